(** Extension of Entropy Mechanism, Lemma 1: with one likely action the second order of entropy under noise turns from
    minus to plus at one gap; among many actions, for a fixed probability, it has the size of log m. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics OwnCovariance OneLikely.
From Trusted.Statements.extension Require noise_level.
Open Scope R_scope.

Section ManyActions.

Variable p : R.
Hypothesis inside : 0 < p < 1.

Let e := 1 - p.
Let m (k : nat) : R := INR (S (S k)).
Let q (k : nat) : R := e / m k.
Let D (k : nat) : R := ln (p / q k).

Lemma m_large k : 2 <= m k.
Proof. pose proof (le_INR 2 (S (S k)) ltac:(lia)) as large; exact large. Qed.

Lemma log_pos k : 0 < ln (m k).
Proof. rewrite <- ln_1; pose proof (m_large k); apply ln_increasing; lra. Qed.

Lemma q_pos k : 0 < q k.
Proof. pose proof (m_large k); apply Rdiv_lt_0_compat; unfold e; lra. Qed.

Lemma gap_is k : D k = ln (p / e) + ln (m k).
Proof.
  pose proof (m_large k); unfold D, q, e; rewrite <- ln_mult.
  - f_equal; field; lra.
  - apply Rdiv_lt_0_compat; lra.
  - lra.
Qed.

Lemma m_grows : is_lim_seq m p_infty.
Proof. apply (is_lim_seq_incr_1 (fun k => INR (S k))), (is_lim_seq_incr_1 INR), is_lim_seq_INR. Qed.

Lemma inverse_of_log : is_lim_seq (fun k => / ln (m k)) 0.
Proof.
  replace (Finite 0) with (Rbar_inv p_infty) by reflexivity; apply is_lim_seq_inv; [|discriminate].
  apply (is_lim_comp_seq ln m p_infty p_infty); [apply is_lim_ln_p| |apply m_grows].
  exists 0%nat; intros; discriminate.
Qed.

Lemma q_vanishes : is_lim_seq q 0.
Proof.
  replace (Finite 0) with (Finite (e * 0)) by (f_equal; ring).
  apply is_lim_seq_mult'; [apply is_lim_seq_const|].
  replace (Finite 0) with (Rbar_inv p_infty) by reflexivity; apply is_lim_seq_inv; [apply m_grows|discriminate].
Qed.

Ltac limit :=
  repeat lazymatch goal with
  | |- is_lim_seq (fun k => @?u k - @?v k) _ => apply is_lim_seq_minus'
  | |- is_lim_seq (fun k => @?u k + @?v k) _ => apply is_lim_seq_plus'
  | |- is_lim_seq (fun k => / ln (m k)) _ => apply inverse_of_log
  | |- is_lim_seq (fun k => @?u k * @?v k) _ => apply is_lim_seq_mult'
  | |- is_lim_seq (fun k => q k) _ => apply q_vanishes
  | |- is_lim_seq q _ => apply q_vanishes
  | |- _ => apply is_lim_seq_const
  end.

Lemma isotropic_among_many :
  is_lim_seq (fun k => isotropic_closed p (q k) (D k) (m k) / ln (m k)) (e * (p * p)).
Proof.
  apply (is_lim_seq_ext (fun k =>
    e * (p * (p - q k) * (ln (p / e) * / ln (m k) + 1) - (1 + p - q k) * / 2 * / ln (m k)))).
  - intros k; pose proof (m_large k); pose proof (log_pos k); unfold isotropic_closed; rewrite gap_is.
    replace (m k * q k) with e by (unfold q; field; lra); field; lra.
  - replace (Finite (e * (p * p)))
      with (Finite (e * (p * (p - 0) * (ln (p / e) * 0 + 1) - (1 + p - 0) * / 2 * 0))) by (f_equal; ring).
    limit.
Qed.

Lemma score_among_many :
  is_lim_seq (fun k => score_closed p (q k) (D k) (m k) / ln (m k)) (e * e * (p * p) * (2 * p - 1) / 2).
Proof.
  apply (is_lim_seq_ext (fun k =>
    e * / 2 * (p * (p - q k) * (ln (p / e) * / ln (m k) + 1) * ((2 * p - 1) * e + (2 * p + 1) * q k)
               - (p * p * (e + 2 * q k) + q k - q k * (q k * (1 + p))) * / ln (m k)))).
  - intros k; pose proof (m_large k); pose proof (log_pos k); pose proof (q_pos k).
    unfold score_closed; rewrite gap_is; set (lead := ln (p / e)).
    replace e with (m k * q k) by (unfold q; field; lra).
    set (x := q k) in *; set (N := m k) in *; set (L := ln N) in *; field; lra.
  - replace (Finite (e * e * (p * p) * (2 * p - 1) / 2))
      with (Finite (e * / 2 * (p * (p - 0) * (ln (p / e) * 0 + 1) * ((2 * p - 1) * e + (2 * p + 1) * 0)
                               - (p * p * (e + 2 * 0) + 0 - 0 * (0 * (1 + p))) * 0))) by (f_equal; field).
    limit.
Qed.

End ManyActions.

Theorem proved : Statements.extension.noise_level.statement.
Proof.
  intros m D factor p least ahead larger above below; assert (D < D * factor) as more by nra.
  split; [split|split; apply tends_to_limit].
  - match goal with |- 0 < (if less ?x 0 then _ else _) => destruct (less x 0) eqn:falls end; [lra|].
    apply less_false in falls; apply (isotropic_turns_once m D (D * factor) least ahead more falls).
  - match goal with |- 0 < (if less ?x 0 then _ else _) => destruct (less x 0) eqn:falls end; [lra|].
    apply less_false in falls; apply (score_turns_once m D (D * factor) least ahead more falls).
  - exact (isotropic_among_many p (conj above below)).
  - exact (score_among_many p (conj above below)).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.noise_level.witness.
Proof. exists 1, 1, 2, (1 / 2); witnessed. Qed.

Theorem defined : Statements.extension.noise_level.defined.
Proof.
  intros m D factor p least ahead larger above below.
  assert (forall gap, 1 + m * exp (- gap) <> 0) as fills by (intros; apply Rgt_not_eq, below_pos; lra).
  assert (forall k, 0 < INR (S (S k))) as counted by (intros; apply lt_0_INR; lia).
  assert (forall k, 0 < ln (INR (S (S k)))) as logs by (intros; apply log_pos).
  assert (forall k, 0 < (1 - p) / INR (S (S k))) as each by (intros; apply Rdiv_lt_0_compat; [lra|apply counted]).
  assert (forall k, 0 < p / ((1 - p) / INR (S (S k)))) as odds by (intros; apply Rdiv_lt_0_compat; [lra|apply each]).
  repeat split; intros; try apply fills; try apply counted; try apply odds;
    apply Rgt_not_eq; (apply counted || apply logs || apply each).
Qed.
