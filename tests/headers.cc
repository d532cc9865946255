// The precompiled headers of all test programs need one source to be compiled with.
