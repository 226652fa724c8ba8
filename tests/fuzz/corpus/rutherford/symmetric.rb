A small matrix                                                          SMALL   
             3             1             1             1
rsa           3 3 5 0
(26I3)          (26I3)          (3E25.16)           
1 3 5 6
1 2 2 3 3
4.0 -1.0 5 -2 6.5e0
