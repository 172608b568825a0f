(** The tempered REINFORCE step of AEPO and its entropy rate.

    One state, logits z, pi = softmax(z), pi^T = softmax(z/T), a set A* of correct actions. The definitions are
    those of [entropy_theory/claims/aepo/tempered_reinforce.py], word for word:

      c_a = Cov_pi(z, delta_a) = pi_a (z_a - E_pi z),    C = Cov_pi(z, pi) = E_pi c,    excess = c - C,
      F(T) = - sum_{A*} pi^T_a (c_a - C),                T^2 F'(T) = sum_{A*} pi^T_a (z_a - E_T z)(c_a - C). *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

(** c *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c - C *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** F(T), and F(1) written without a temperature. *)
Definition rate (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  - total_on n correct (fun a => softmax n (tempered temperature logits) a * excess n logits a).
Definition untempered_rate (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** T^2 F'(T), and F'(1) written without a temperature. *)
Definition scaled_slope (n : nat) (logits : vector) (correct : mask) (temperature : R) : R :=
  total_on n correct (fun a =>
    softmax n (tempered temperature logits) a
    * centered n (softmax n (tempered temperature logits)) logits a * excess n logits a).
Definition untempered_scaled_slope (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct (fun a =>
    softmax n logits a * centered n (softmax n logits) logits a * excess n logits a).

(** The expected logit step per unit learning rate: 1_{A*} pi^T - P_T pi, where P_T is
    the tempered probability of the correct actions (Eqs. 4, 5). *)
Definition unit_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a =>
    only correct (softmax n (tempered temperature logits)) a
    - total_on n correct (softmax n (tempered temperature logits)) * softmax n logits a.

(** (1/4)(1 + log n) ||step||^2 *)
Definition remainder_bound (n : nat) (step : vector) : R :=
  (1 + ln (INR n)) * sum n (fun a => step a * step a) / 4.

(** * A temperature of one *)

Lemma tempered_1 z a : tempered 1 z a = z a.
Proof. unfold tempered; field. Qed.

Lemma softmax_tempered_1 n z a : (a < n)%nat -> softmax n (tempered 1 z) a = softmax n z a.
Proof. intros inside; apply softmax_ext; [intros; apply tempered_1|assumption]. Qed.

Lemma total_on_ext n A f g :
  (forall a, (a < n)%nat -> A a = true -> f a = g a) -> total_on n A f = total_on n A g.
Proof.
  intros same; apply sum_ext; intros a inside; unfold only.
  destruct (A a) eqn:correct; [apply same; assumption|reflexivity].
Qed.

Lemma rate_1 n z A : rate n z A 1 = untempered_rate n z A.
Proof.
  unfold rate, untempered_rate; f_equal.
  apply total_on_ext; intros a inside _; rewrite softmax_tempered_1 by assumption; reflexivity.
Qed.

Lemma scaled_slope_1 n z A : scaled_slope n z A 1 = untempered_scaled_slope n z A.
Proof.
  apply total_on_ext; intros a inside _; unfold centered, mean.
  rewrite softmax_tempered_1 by assumption.
  rewrite (sum_ext n (fun b => softmax n (tempered 1 z) b * z b) (fun b => softmax n z b * z b));
    [reflexivity|].
  intros b b_inside; rewrite softmax_tempered_1 by assumption; reflexivity.
Qed.
