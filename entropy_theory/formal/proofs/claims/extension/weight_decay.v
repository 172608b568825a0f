(** Extension of AEPO, section 4: decoupled weight decay raises entropy, as a higher temperature does. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Monotone Curvature EntropyChange Temperature.
From Trusted.Statements.extension Require weight_decay.
Open Scope R_scope.

Section Decay.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let decayed (t : R) : vector := fun a => (1 - t) * z a.
Let variance (t : R) : R := covariance n (softmax n (decayed t)) z z.

Lemma slope t : is_derive (fun s => entropy n (decayed s)) t ((1 - t) * variance t).
Proof.
  evar_last.
  - apply (is_derive_entropy n decayed (fun a => - z a) t some); intros; unfold decayed.
    auto_derive; [trivial|ring].
  - rewrite covariance_log_softmax by (exact some || apply softmax_sum, some).
    unfold variance; rewrite <- covariance_scal_l.
    transitivity (- covariance n (softmax n (decayed t)) (decayed t) (fun a => -1 * z a)).
    { f_equal; apply covariance_ext; intros; ring. }
    rewrite covariance_scal_r; unfold decayed; ring.
Qed.

Lemma never_falls w : 0 <= w <= 1 -> entropy n (decayed 0) <= entropy n (decayed w).
Proof.
  intros range; apply (nondecreasing_by_slope (fun t => entropy n (decayed t)) (fun t => (1 - t) * variance t) 0 w); [lra|intros; apply slope|].
  intros t inside; apply Rmult_le_pos; [lra|].
  apply variance_nonneg; intros; apply Rlt_le, softmax_pos, some.
Qed.

Lemma rises w :
  0 < w <= 1 -> 0 < covariance n (softmax n z) z z -> entropy n (decayed 0) < entropy n (decayed w).
Proof.
  intros range uneven; apply (increasing_by_slope (fun t => entropy n (decayed t)) (fun t => (1 - t) * variance t) 0 w); [lra|intros; apply slope|].
  intros t inside; apply Rmult_lt_0_compat; [lra|].
  assert (0 < largest n z - smallest n z) as wide.
  { destruct (Rlt_or_le 0 (largest n z - smallest n z)) as [|narrow]; [assumption|exfalso].
    assert (forall a, (a < n)%nat -> z a = smallest n z) as level.
    { intros a inside_a; pose proof (largest_ge n z a inside_a); pose proof (smallest_le n z a inside_a); lra. }
    assert (sum n (softmax n z) = 1) as one by apply softmax_sum, some.
    rewrite (covariance_ext n _ z z z (fun _ => smallest n z)), covariance_const_r in uneven; auto; lra. }
  destruct (range_pos n z some wide) as (a & b & a_inside & b_inside & differ).
  apply (variance_pos n _ z a b); try assumption; intros; apply softmax_pos, some.
Qed.

End Decay.

Lemma after_decay n z w : (0 < n)%nat ->
  entropy_change n z (fun a => - w * z a) = entropy n (fun a => (1 - w) * z a) - entropy n (fun a => (1 - 0) * z a).
Proof.
  intros some; unfold entropy_change, moved_by; apply f_equal2; apply entropy_ext; intros; ring.
Qed.

Theorem proved : Statements.extension.weight_decay.statement.
Proof.
  intros n z w two low high; assert (0 < n)%nat as some by lia; rewrite after_decay by exact some; split; [|split].
  - pose proof (never_falls n z some w); lra.
  - apply is_derive_Reals; evar_last; [apply (slope n z some 0)|].
    rewrite Rminus_0_r, Rmult_1_l; apply covariance_ext_p; intros; apply softmax_ext; [intros; ring|assumption].
  - intros [positive uneven]; pose proof (rises n z some w); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.weight_decay.witness.
Proof. exists 2%nat, (fun _ => 0), 0; witnessed. Qed.

Theorem witness_1 : Statements.extension.weight_decay.witness_1.
Proof. exists 2%nat, one_to_two, 1; witnessed. Qed.
