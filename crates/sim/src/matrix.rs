//! Every write of a scenario, and the operator dies around it: before it is sent, after it was
//! carried out, after it was answered. The end has to be the same.
