(* Generated from the formula of the claim entropy-mechanism.difficulty (Entropy Mechanism, Figure 8 (right)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** (2p - 1) l - 1/2, above zero where the covariance falls with p. *)
Definition past_peak (n : nat) (logits : vector) : R :=
  (2 * softmax n logits 0%nat - 1) * (logits 0%nat - logits 1%nat) - 1 / 2.

(** The prompt with its right logit raised. *)
Definition easier (n : nat) (logits : vector) (shift : R) : vector :=
  fun a => logits a + (if Nat.eqb a 0%nat then shift else 0).

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** Cov_pi(log pi, pi A), as the covariance of the reward and c. *)
Definition plain_covariance (n : nat) (logits : vector) (reward : vector) : R :=
  covariance n (softmax n logits) reward (own_covariance n logits).

(** Cov_pi(log pi, pi A), the first answer being the right one. *)
Definition prompt_covariance (n : nat) (logits : vector) : R :=
  plain_covariance n logits (fun a => if Nat.eqb a 0%nat then 1 else 0).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (shift : R),
  (2 <= n)%nat ->
  0 < shift ->
  largest_on n (fun a => negb (Nat.eqb a 0%nat)) logits <= smallest_on n (fun a => negb (Nat.eqb a 0%nat)) logits ->
  ((~ (0 < Rmax (past_peak n logits) (past_peak n (easier n logits shift)))) \/ ((0 < Rmin (past_peak n logits) (past_peak n (easier n logits shift))) /\ ((0 < logits 0%nat - logits 1%nat) \/ (easier n logits shift 0%nat - easier n logits shift 1%nat < 0)))) ->
  0 < (if negb (less 0 (Rmax (past_peak n logits) (past_peak n (easier n logits shift)))) then prompt_covariance n (easier n logits shift) - prompt_covariance n logits else - (prompt_covariance n (easier n logits shift) - prompt_covariance n logits)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (shift : R),
  (2 <= n)%nat /\
  0 < shift /\
  largest_on n (fun a => negb (Nat.eqb a 0%nat)) logits <= smallest_on n (fun a => negb (Nat.eqb a 0%nat)) logits /\
  ((~ (0 < Rmax (past_peak n logits) (past_peak n (easier n logits shift)))) \/ ((0 < Rmin (past_peak n logits) (past_peak n (easier n logits shift))) /\ ((0 < logits 0%nat - logits 1%nat) \/ (easier n logits shift 0%nat - easier n logits shift 1%nat < 0)))).
