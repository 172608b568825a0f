(* Generated from the formula of the claim aent.table-1-averages (AEnt, Table 1 and Section 5.2 ('outperforms the baselines on average')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (aent : vector) (baseline : vector),
  n = 6%nat ->
  ((aent 0%nat = 552 /\ aent 1%nat = 750 /\ aent 2%nat = 217 /\ aent 3%nat = 330 /\ aent 4%nat = 377 /\ aent 5%nat = 581 /\ baseline 0%nat = 368 /\ baseline 1%nat = 584 /\ baseline 2%nat = 83 /\ baseline 3%nat = 179 /\ baseline 4%nat = 279 /\ baseline 5%nat = 406) \/
   (aent 0%nat = 552 /\ aent 1%nat = 750 /\ aent 2%nat = 217 /\ aent 3%nat = 330 /\ aent 4%nat = 377 /\ aent 5%nat = 581 /\ baseline 0%nat = 524 /\ baseline 1%nat = 756 /\ baseline 2%nat = 192 /\ baseline 3%nat = 311 /\ baseline 4%nat = 364 /\ baseline 5%nat = 550) \/
   (aent 0%nat = 552 /\ aent 1%nat = 750 /\ aent 2%nat = 217 /\ aent 3%nat = 330 /\ aent 4%nat = 377 /\ aent 5%nat = 581 /\ baseline 0%nat = 546 /\ baseline 1%nat = 752 /\ baseline 2%nat = 167 /\ baseline 3%nat = 316 /\ baseline 4%nat = 370 /\ baseline 5%nat = 562) \/
   (aent 0%nat = 813 /\ aent 1%nat = 882 /\ aent 2%nat = 392 /\ aent 3%nat = 359 /\ aent 4%nat = 591 /\ aent 5%nat = 825 /\ baseline 0%nat = 661 /\ baseline 1%nat = 792 /\ baseline 2%nat = 225 /\ baseline 3%nat = 311 /\ baseline 4%nat = 432 /\ baseline 5%nat = 594) \/
   (aent 0%nat = 813 /\ aent 1%nat = 882 /\ aent 2%nat = 392 /\ aent 3%nat = 359 /\ aent 4%nat = 591 /\ aent 5%nat = 825 /\ baseline 0%nat = 773 /\ baseline 1%nat = 865 /\ baseline 2%nat = 367 /\ baseline 3%nat = 347 /\ baseline 4%nat = 576 /\ baseline 5%nat = 769) \/
   (aent 0%nat = 813 /\ aent 1%nat = 882 /\ aent 2%nat = 392 /\ aent 3%nat = 359 /\ aent 4%nat = 591 /\ aent 5%nat = 825 /\ baseline 0%nat = 808 /\ baseline 1%nat = 872 /\ baseline 2%nat = 342 /\ baseline 3%nat = 359 /\ baseline 4%nat = 576 /\ baseline 5%nat = 794)) ->
  1 < sum n (fun a => aent a - baseline a) / 6.

Definition witness : Prop :=
  exists (n : nat) (aent : vector) (baseline : vector),
  n = 6%nat /\
  ((aent 0%nat = 552 /\ aent 1%nat = 750 /\ aent 2%nat = 217 /\ aent 3%nat = 330 /\ aent 4%nat = 377 /\ aent 5%nat = 581 /\ baseline 0%nat = 368 /\ baseline 1%nat = 584 /\ baseline 2%nat = 83 /\ baseline 3%nat = 179 /\ baseline 4%nat = 279 /\ baseline 5%nat = 406) \/
   (aent 0%nat = 552 /\ aent 1%nat = 750 /\ aent 2%nat = 217 /\ aent 3%nat = 330 /\ aent 4%nat = 377 /\ aent 5%nat = 581 /\ baseline 0%nat = 524 /\ baseline 1%nat = 756 /\ baseline 2%nat = 192 /\ baseline 3%nat = 311 /\ baseline 4%nat = 364 /\ baseline 5%nat = 550) \/
   (aent 0%nat = 552 /\ aent 1%nat = 750 /\ aent 2%nat = 217 /\ aent 3%nat = 330 /\ aent 4%nat = 377 /\ aent 5%nat = 581 /\ baseline 0%nat = 546 /\ baseline 1%nat = 752 /\ baseline 2%nat = 167 /\ baseline 3%nat = 316 /\ baseline 4%nat = 370 /\ baseline 5%nat = 562) \/
   (aent 0%nat = 813 /\ aent 1%nat = 882 /\ aent 2%nat = 392 /\ aent 3%nat = 359 /\ aent 4%nat = 591 /\ aent 5%nat = 825 /\ baseline 0%nat = 661 /\ baseline 1%nat = 792 /\ baseline 2%nat = 225 /\ baseline 3%nat = 311 /\ baseline 4%nat = 432 /\ baseline 5%nat = 594) \/
   (aent 0%nat = 813 /\ aent 1%nat = 882 /\ aent 2%nat = 392 /\ aent 3%nat = 359 /\ aent 4%nat = 591 /\ aent 5%nat = 825 /\ baseline 0%nat = 773 /\ baseline 1%nat = 865 /\ baseline 2%nat = 367 /\ baseline 3%nat = 347 /\ baseline 4%nat = 576 /\ baseline 5%nat = 769) \/
   (aent 0%nat = 813 /\ aent 1%nat = 882 /\ aent 2%nat = 392 /\ aent 3%nat = 359 /\ aent 4%nat = 591 /\ aent 5%nat = 825 /\ baseline 0%nat = 808 /\ baseline 1%nat = 872 /\ baseline 2%nat = 342 /\ baseline 3%nat = 359 /\ baseline 4%nat = 576 /\ baseline 5%nat = 794)).
