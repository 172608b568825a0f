(* Generated from the formula of the claim aepo.equation-5 (AEPO, Eq. 5 (Appendix B)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi. *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => (if correct a then softmax n (tempered temperature logits) a else 0) - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  (forall a, (a < n)%nat -> learning_rate * sum n (fun b => (if correct b then softmax n (tempered temperature logits) b else 0) * ((if Nat.eqb a b then 1 else 0) - softmax n logits a)) = learning_rate * unit_step n logits correct temperature a) /\
  (forall direction : vector, (derivative (fun t => total_on n correct (fun a => softmax n (tempered temperature logits) a * log_softmax n (fun b => logits b + t * direction b) a)) (0) (sum n (fun a => unit_step n logits correct temperature a * direction a)))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < learning_rate.

Definition unit_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  temperature <> 0 /\
  (forall a, (a < n)%nat -> unit_step_defined n logits correct temperature a).
