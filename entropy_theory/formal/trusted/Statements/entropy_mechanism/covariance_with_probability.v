(* Generated from the formula of the claim entropy-mechanism.covariance-with-probability (Entropy Mechanism, abstract ('covariance between action probability and the change in logits')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** Cov_pi(log pi, A) = Cov_pi(z, r). *)
Definition natural_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) logits reward.

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  0 <= Rmax (smallest n (fun a => smallest n (fun b => (reward a - reward b) * (logits a - logits b)))) (smallest n (fun a => smallest n (fun b => - ((reward a - reward b) * (logits a - logits b))))) ->
  0 <= Rmax (Rmin (covariance n (softmax n logits) (softmax n logits) reward) (natural_covariance n logits reward)) (Rmin (- covariance n (softmax n logits) (softmax n logits) reward) (- natural_covariance n logits reward)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat /\
  0 <= Rmax (smallest n (fun a => smallest n (fun b => (reward a - reward b) * (logits a - logits b)))) (smallest n (fun a => smallest n (fun b => - ((reward a - reward b) * (logits a - logits b))))).
