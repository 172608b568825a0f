(** Entropy at a temperature: dH(softmax(z/T))/dT = Var(z)/T^3, which is positive unless the logits are constant. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks.
Open Scope R_scope.

(** Logits that differ have a positive variance. *)
Lemma variance_pos n p z a b :
  (forall c, (c < n)%nat -> 0 < p c) -> (a < n)%nat -> (b < n)%nat -> z a <> z b ->
  0 < covariance n p z z.
Proof.
  intros weight a_inside b_inside differ.
  assert (forall c, (c < n)%nat -> 0 <= p c * (centered n p z c * centered n p z c)) as nonneg.
  { intros c inside; apply Rmult_le_pos; [apply Rlt_le, weight, inside|apply Rle_0_sqr]. }
  assert (forall c, (c < n)%nat -> z c <> mean n p z ->
                    0 < p c * (centered n p z c * centered n p z c)) as strict.
  { intros c inside off; apply Rmult_lt_0_compat; [apply weight, inside|].
    apply Rsqr_pos_lt; unfold centered; lra. }
  destruct (Req_dec (z a) (mean n p z)) as [at_mean|off].
  - apply (sum_pos_term n _ b); [assumption|assumption|apply strict; [assumption|congruence]].
  - apply (sum_pos_term n _ a); [assumption|assumption|apply strict; assumption].
Qed.

Lemma range_pos n z :
  (0 < n)%nat -> 0 < largest n z - smallest n z ->
  exists a b, (a < n)%nat /\ (b < n)%nat /\ z a <> z b.
Proof.
  intros some range.
  destruct (largest_attained n z some) as (a & a_inside & top).
  destruct (smallest_attained n z some) as (b & b_inside & bottom).
  exists a, b; repeat split; [assumption|assumption|lra].
Qed.

Section Temperature.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Lemma is_derive_tempered T a :
  0 < T -> is_derive (fun t => tempered t z a) T (- / (T * T) * z a).
Proof. intros positive; unfold tempered; auto_derive; [lra|field; lra]. Qed.

Lemma is_derive_tempered_entropy T :
  0 < T ->
  is_derive (fun t => entropy n (tempered t z)) T
    (covariance n (softmax n (tempered T z)) z z / T ^ 3).
Proof.
  intros positive; evar_last.
  - apply (is_derive_entropy n (fun t => tempered t z) (fun a => - / (T * T) * z a) T some).
    intros; apply is_derive_tempered; assumption.
  - rewrite covariance_log_softmax by (assumption || apply softmax_sum, some).
    rewrite (covariance_ext n _ (tempered T z) _ (fun a => / T * z a) (fun a => - / (T * T) * z a))
      by (intros; unfold tempered, Rdiv; ring).
    rewrite covariance_scal_l, covariance_sym, covariance_scal_l; field; lra.
Qed.

Lemma derivative_tempered_entropy T :
  0 < T ->
  derivative (fun t => entropy n (tempered t z)) T
    (covariance n (softmax n (tempered T z)) z z / T ^ 3).
Proof. intros positive; apply is_derive_Reals, is_derive_tempered_entropy, positive. Qed.

Lemma tempered_entropy_increases T T' :
  0 < T -> T < T' -> 0 < largest n z - smallest n z ->
  entropy n (tempered T z) < entropy n (tempered T' z).
Proof.
  intros positive hotter range.
  destruct (range_pos n z some range) as (a & b & a_inside & b_inside & differ).
  destruct (MVT_cor2 (fun t => entropy n (tempered t z))
              (fun t => covariance n (softmax n (tempered t z)) z z / t ^ 3) T T' hotter)
    as (t & change & between).
  { intros t [from _]; apply derivative_tempered_entropy; lra. }
  assert (0 < covariance n (softmax n (tempered t z)) z z / t ^ 3).
  { apply Rdiv_lt_0_compat; [|apply pow_lt; lra].
    apply (variance_pos n _ z a b); [intros; apply softmax_pos, some|assumption|assumption|assumption]. }
  nra.
Qed.

End Temperature.
