(* Generated from the formula of the claim aent.clamping-reduces-bias (AEnt, Section 1 ('enjoys decreased bias'), without Section 4.1's 'denser optimality'). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** B, the value that softmax(r/lambda) on these tokens gives away; one right answer or more exists. *)
Definition bias (n_tokens : R) (n_right : R) (coefficient : R) : R :=
  (n_tokens - n_right) / (n_right * exp (1 / coefficient) + (n_tokens - n_right)).

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < coefficient ->
  0 < removed_fraction ->
  removed_fraction < 1 ->
  0 < (if negb (some_on n (complement (fun a => kept_tokens n logits removed_fraction a))) then 1 else smallest_on n (fun a => kept_tokens n logits removed_fraction a) logits - largest_on n (fun a => negb (kept_tokens n logits removed_fraction a)) logits) ->
  bias (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient <= bias (INR n) (total_on n correct (fun a => 1)) coefficient.

Definition bias_defined (n_tokens : R) (n_right : R) (coefficient : R) : Prop :=
  coefficient <> 0 /\
  n_right * exp (1 / coefficient) + (n_tokens - n_right) <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (coefficient : R) (removed_fraction : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < coefficient ->
  0 < removed_fraction ->
  removed_fraction < 1 ->
  0 < (if negb (some_on n (complement (fun a => kept_tokens n logits removed_fraction a))) then 1 else smallest_on n (fun a => kept_tokens n logits removed_fraction a) logits - largest_on n (fun a => negb (kept_tokens n logits removed_fraction a)) logits) ->
  bias_defined (INR n) (total_on n correct (fun a => 1)) coefficient /\
  bias_defined (total_on n (fun a => kept_tokens n logits removed_fraction a) (fun a => 1)) (total_on n (fun a => andb (kept_tokens n logits removed_fraction a) (correct a)) (fun a => 1)) coefficient.

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
