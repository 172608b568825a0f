(* Generated from the formula of the claim extension.score-noise (Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

(** Logits of one action that is ahead of all others by ``gap``: [..., n]. *)
Definition dominated (n : nat) (gap : R) (correct : mask) : vector :=
  fun a => if correct a then gap else 0.

(** Cov_pi(pi, log pi) - (1 - sum pi^2)/2. *)
Definition isotropic_effect (n : nat) (logits : vector) : R :=
  covariance n (softmax n logits) logits (softmax n logits) - sum n (fun a => softmax n logits a * (1 - softmax n logits a)) / 2.

(** The second order under SGD's noise, from moments of pi. *)
Definition score_effect (n : nat) (logits : vector) : R :=
  - (sum n (fun a => softmax n logits a * softmax n logits a) + sum n (fun a => softmax n logits a * softmax n logits a) * sum n (fun a => softmax n logits a * softmax n logits a) - 2 * sum n (fun a => softmax n logits a * softmax n logits a * softmax n logits a) + (1 + 2 * sum n (fun a => softmax n logits a * softmax n logits a)) * covariance n (softmax n logits) logits (softmax n logits) - 3 * covariance n (softmax n logits) logits (fun a => softmax n logits a * softmax n logits a)) / 2.

Definition printed : Prop :=
  forall (n : nat) (correct : mask) (gap : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < gap ->
  count n (dominated n gap correct) correct < 2 ->
  0 <= (if less 0 (isotropic_effect n (dominated n gap correct)) then isotropic_effect n (dominated n gap correct) * sum n (fun a => softmax n (dominated n gap correct) a * (1 - softmax n (dominated n gap correct) a)) - score_effect n (dominated n gap correct) * count n (dominated n gap correct) (fun a => negb (correct a)) else 1).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
