A small matrix                                                          SMALL   
             3             1             1             1
iua           2 2 2 0
(26I3)          (26I3)          (3E25.16)           
1 2 3
1 2
1 1
