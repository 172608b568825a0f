(* Generated from the formula of the claim aent.table-1-wins (AEnt, Table 1 and Section 5.2 ('on 5 out of the 6 benchmarks')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n : nat) (base : vector) (grpo : vector) (ent_reg : vector) (aent : vector),
  n = 6%nat ->
  ((base 0%nat = 368 /\ base 1%nat = 584 /\ base 2%nat = 83 /\ base 3%nat = 179 /\ base 4%nat = 279 /\ base 5%nat = 406 /\ grpo 0%nat = 524 /\ grpo 1%nat = 756 /\ grpo 2%nat = 192 /\ grpo 3%nat = 311 /\ grpo 4%nat = 364 /\ grpo 5%nat = 550 /\ ent_reg 0%nat = 546 /\ ent_reg 1%nat = 752 /\ ent_reg 2%nat = 167 /\ ent_reg 3%nat = 316 /\ ent_reg 4%nat = 370 /\ ent_reg 5%nat = 562 /\ aent 0%nat = 552 /\ aent 1%nat = 750 /\ aent 2%nat = 217 /\ aent 3%nat = 330 /\ aent 4%nat = 377 /\ aent 5%nat = 581) \/
   (base 0%nat = 661 /\ base 1%nat = 792 /\ base 2%nat = 225 /\ base 3%nat = 311 /\ base 4%nat = 432 /\ base 5%nat = 594 /\ grpo 0%nat = 773 /\ grpo 1%nat = 865 /\ grpo 2%nat = 367 /\ grpo 3%nat = 347 /\ grpo 4%nat = 576 /\ grpo 5%nat = 769 /\ ent_reg 0%nat = 808 /\ ent_reg 1%nat = 872 /\ ent_reg 2%nat = 342 /\ ent_reg 3%nat = 359 /\ ent_reg 4%nat = 576 /\ ent_reg 5%nat = 794 /\ aent 0%nat = 813 /\ aent 1%nat = 882 /\ aent 2%nat = 392 /\ aent 3%nat = 359 /\ aent 4%nat = 591 /\ aent 5%nat = 825)) ->
  total_on n (fun a => andb (andb (less (base a) (aent a)) (less (grpo a) (aent a))) (less (ent_reg a) (aent a))) (fun a => 1) = 5.

Definition witness : Prop :=
  exists (n : nat) (base : vector) (grpo : vector) (ent_reg : vector) (aent : vector),
  n = 6%nat /\
  ((base 0%nat = 368 /\ base 1%nat = 584 /\ base 2%nat = 83 /\ base 3%nat = 179 /\ base 4%nat = 279 /\ base 5%nat = 406 /\ grpo 0%nat = 524 /\ grpo 1%nat = 756 /\ grpo 2%nat = 192 /\ grpo 3%nat = 311 /\ grpo 4%nat = 364 /\ grpo 5%nat = 550 /\ ent_reg 0%nat = 546 /\ ent_reg 1%nat = 752 /\ ent_reg 2%nat = 167 /\ ent_reg 3%nat = 316 /\ ent_reg 4%nat = 370 /\ ent_reg 5%nat = 562 /\ aent 0%nat = 552 /\ aent 1%nat = 750 /\ aent 2%nat = 217 /\ aent 3%nat = 330 /\ aent 4%nat = 377 /\ aent 5%nat = 581) \/
   (base 0%nat = 661 /\ base 1%nat = 792 /\ base 2%nat = 225 /\ base 3%nat = 311 /\ base 4%nat = 432 /\ base 5%nat = 594 /\ grpo 0%nat = 773 /\ grpo 1%nat = 865 /\ grpo 2%nat = 367 /\ grpo 3%nat = 347 /\ grpo 4%nat = 576 /\ grpo 5%nat = 769 /\ ent_reg 0%nat = 808 /\ ent_reg 1%nat = 872 /\ ent_reg 2%nat = 342 /\ ent_reg 3%nat = 359 /\ ent_reg 4%nat = 576 /\ ent_reg 5%nat = 794 /\ aent 0%nat = 813 /\ aent 1%nat = 882 /\ aent 2%nat = 392 /\ aent 3%nat = 359 /\ aent 4%nat = 591 /\ aent 5%nat = 825)).
