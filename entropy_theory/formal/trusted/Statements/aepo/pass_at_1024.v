(* Generated from the formula of the claim aepo.pass-at-1024 (AEPO, abstract and Section 5.2 (Table 2)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition repair : Prop :=
  forall (aepo : R) (base : R) (grpo : R),
  ((aepo = 25 /\ base = 24 /\ grpo = 22) \/
   (aepo = 22 /\ base = 22 /\ grpo = 19)) ->
  base <= aepo /\
  1 <= 2 * (base - grpo).

Definition witness : Prop :=
  exists (aepo : R) (base : R) (grpo : R),
  ((aepo = 25 /\ base = 24 /\ grpo = 22) \/
   (aepo = 22 /\ base = 22 /\ grpo = 19)).
