(* Generated from the formula of the claim later-work.ce-gppo-classes (CE-GPPO (arXiv 2509.20712), Section 1: PA&HP, NA&LP, PA&LP, NA&HP). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** log pi_a + H = z_a - E z. *)
Definition relative_log_prob (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) logits.

(** First-order change of entropy by the step e_k - pi, for each sampled action k. *)
Definition effect_of_sample (n : nat) (logits : vector) : vector :=
  fun a => - covariance n (fun b => softmax n logits b) (fun b => logits b) (fun b => (if Nat.eqb a b then 1 else 0) - softmax n logits b).

Definition printed : Prop :=
  forall (n : nat) (logits : vector),
  (2 <= n)%nat ->
  forall a, (a < n)%nat -> 0 <= (if less (relative_log_prob n logits a) 0 then effect_of_sample n logits a else - effect_of_sample n logits a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
