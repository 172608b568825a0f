(* Generated from the formula of the claim entropy-mechanism.table-1-outliers (Entropy Mechanism, Table 1 ('outliers with high covariance (500x mean value)')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

Definition statement : Prop :=
  forall (group_mean : R) (mean_ : R),
  ((group_mean = 2827 / 500 /\ mean_ = 3 / 1000) \/
   (group_mean = 389 / 125 /\ mean_ = 3 / 1000) \/
   (group_mean = 277 / 200 /\ mean_ = 3 / 1000)) ->
  500 * (mean_ - 1 / 2000) <= group_mean + 1 / 2000.

Definition witness : Prop :=
  exists (group_mean : R) (mean_ : R),
  ((group_mean = 2827 / 500 /\ mean_ = 3 / 1000) \/
   (group_mean = 389 / 125 /\ mean_ = 3 / 1000) \/
   (group_mean = 277 / 200 /\ mean_ = 3 / 1000)).
