(** Extension of Entropy Mechanism, Lemma 1: with rewards 0 and 1 the sign of the exact gradient is a natural-gradient
    step of twice the rate. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature EntropyChange Growth Comparisons.
From Trusted.Statements.extension Require sign_step.
Open Scope R_scope.

Section Sign.

Variables (n : nat) (z : vector) (A : mask).
Hypothesis some : (0 < n)%nat.
Hypothesis right : nonempty n A.
Hypothesis wrong : ~ (forall a, (a < n)%nat -> A a = true).

Let p := softmax n z.
Let r : vector := fun a => if A a then 1 else 0.
Let share := mean n p r.

Lemma share_strictly_between : 0 < share < 1.
Proof.
  assert (forall a, 0 < p a) as positive by (intros; apply softmax_pos, some).
  split.
  - destruct right as (k & inside & at_k); unfold share, mean.
    apply (sum_pos_term n (fun a => p a * r a) k); [|exact inside|].
    + intros a _; pose proof (positive a); unfold r; destruct (A a); lra.
    + unfold r; rewrite at_k; pose proof (positive k); lra.
  - enough (0 < mean n p (fun a => 1 - r a)) as rest
      by (rewrite mean_minus, mean_const in rest by apply softmax_sum, some; unfold share; change (fun a => r a) with r in *; lra).
    destruct (some_wrong n A wrong) as (k & inside & at_k); unfold mean.
    apply (sum_pos_term n (fun a => p a * (1 - r a)) k); [|exact inside|].
    + intros a _; pose proof (positive a); unfold r; destruct (A a); lra.
    + pose proof (positive k); unfold r; unfold complement in at_k; destruct (A k); [discriminate|lra].
Qed.

Lemma sign_is a : Statements.extension.sign_step.sign_step n z A a = 2 * r a + - 1.
Proof.
  pose proof share_strictly_between as between; assert (0 < p a) as positive by apply softmax_pos, some.
  change (sign_of (p a * (r a - share)) = 2 * r a + - 1).
  unfold r at 1 2; destruct (A a).
  - rewrite sign_of_positive by (apply Rmult_lt_0_compat; lra); ring.
  - rewrite sign_of_negative by nra; ring.
Qed.

End Sign.

Theorem proved : Statements.extension.sign_step.statement.
Proof.
  intros n z A rate two right positive wrong; assert (0 < n)%nat as some by lia.
  pose proof (sign_is n z A some right wrong) as sign; split.
  - intros a inside; f_equal; unfold log_softmax; f_equal.
    set (share := mean n (softmax n z) (fun b => if A b then 1 else 0)).
    rewrite <- (softmax_shift n (moved_by z (fun b => 2 * rate * Statements.extension.sign_step.natural_step n z A b))
                  (rate * (2 * share - 1)) a some).
    apply softmax_ext; [|exact inside]; intros b _; unfold moved_by; rewrite sign.
    change (Statements.extension.sign_step.natural_step n z A b) with ((if A b then 1 else 0) - share); ring.
  - set (d := Statements.extension.sign_step.sign_step n z A).
    apply is_derive_Reals; evar_last; [apply (is_derive_entropy_along_line n z d some)|].
    rewrite covariance_log_softmax by (exact some || apply softmax_sum, some).
    transitivity (- covariance n (softmax n z) z d).
    + f_equal; transitivity (covariance n (softmax n (line z d 0)) z d).
      * apply covariance_ext; intros a _; unfold line; ring.
      * apply covariance_ext_p; intros; apply softmax_ext; [intros; apply line_start|assumption].
    + rewrite (covariance_ext n _ z d z (fun a => 2 * (if A a then 1 else 0) + - 1)) by (intros; apply sign || reflexivity).
      rewrite covariance_sym, covariance_shift_l, covariance_scal_l, covariance_sym by apply softmax_sum, some.
      unfold Statements.extension.sign_step.natural_fall, Statements.extension.sign_step.rewards; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.sign_step.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 0), 1; witnessed. Qed.
