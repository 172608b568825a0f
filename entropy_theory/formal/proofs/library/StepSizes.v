(** Runs whose step sizes vary. What drives a number to zero in proportion to step sizes, and cannot be driven
    for ever, vanishes if the step sizes have no finite sum. *)

From Coq Require Import Reals Lra Lia Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Monotone.
Open Scope R_scope.

(** The sum of all step sizes is infinite; [sum k w] is that of the first k. *)
Definition diverges (w : nat -> R) : Prop := forall bound, ~ forall k, sum k w <= bound.

Lemma run_sum w k : run (fun j c => c + w j) 0 k = sum k w.
Proof. induction k as [|k IH]; simpl; [reflexivity|rewrite IH; reflexivity]. Qed.

(** As it stands in statements. *)
Lemma endless_form (w : nat -> R) :
  (forall bound, ~ forall k, run (fun j c => c + w j) 0 k <= bound) <-> diverges w.
Proof.
  unfold diverges; split; intros endless bound small; apply (endless bound); intros k; specialize (small k);
    rewrite run_sum in *; exact small.
Qed.

Lemma diverges_above w v : (forall k, w k <= v k) -> diverges w -> diverges v.
Proof.
  intros below endless bound small; apply (endless bound); intros k.
  apply Rle_trans with (2 := small k), sum_le; auto.
Qed.

Lemma constant_diverges c : 0 < c -> diverges (fun _ => c).
Proof.
  intros c_pos bound small.
  destruct (nfloor_ex (Rabs (bound / c)) (Rabs_pos _)) as (k & _ & large); specialize (small (S k)).
  rewrite <- S_INR in large; pose proof (Rle_abs (bound / c)).
  rewrite sum_const in small; assert (bound / c * c < INR (S k) * c) by (apply Rmult_lt_compat_r; lra).
  replace (bound / c * c) with bound in * by (field; lra); lra.
Qed.

Lemma rises_from (phi : nat -> R) :
  (forall k, phi k <= phi (S k)) -> forall i j, (i <= j)%nat -> phi i <= phi j.
Proof. intros up i j later; induction later as [|j later IH]; [lra|specialize (up j); lra]. Qed.

(** What rises at every step and stays below a bound converges. *)
Lemma bounded_converges (phi : nat -> R) B :
  (forall k, phi k <= phi (S k)) -> (forall k, phi k <= B) -> exists limit, tends_to phi limit.
Proof.
  intros up below; destruct (Un_cv_crit phi up) as (limit & converges).
  { exists B; intros x (k & ->); apply below. }
  exists limit; intros e e_pos; destruct (converges e e_pos) as (N & close); exists N; intros k later.
  exact (close k later).
Qed.

(** phi rises by at least c w q in a step and stays below a bound; q falls by at most C w q. *)
Lemma vanishes_while_bounded (phi q w : nat -> R) (c C B Q : R) :
  0 < c -> 0 <= C -> (forall k, 0 <= w k) -> (forall k, 0 <= q k <= Q) ->
  (forall k, phi k + c * (w k * q k) <= phi (S k)) -> (forall k, phi k <= B) ->
  (forall k, q k - C * (w k * q k) <= q (S k)) ->
  diverges w -> tends_to q 0.
Proof.
  intros c_pos C_nonneg w_nonneg range grows below falls endless.
  assert (forall k, 0 <= w k * q k) as product by (intros k; apply Rmult_le_pos; [auto|apply range]).
  assert (forall k, phi k <= phi (S k)) as up.
  { intros k; specialize (grows k); specialize (product k).
    assert (0 <= c * (w k * q k)) by (apply Rmult_le_pos; lra); lra. }
  set (C' := C / c).
  assert (0 <= C') as C'_nonneg by (apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat, c_pos]).
  (* q + (C/c) phi rises, so that q converges as phi does. *)
  destruct (bounded_converges phi B up below) as (p_end & phi_converges).
  destruct (bounded_converges (fun k => q k + C' * phi k) (Q + C' * B)) as (s_end & both_converge).
  { intros k; specialize (grows k); specialize (falls k).
    assert (C' * (c * (w k * q k)) = C * (w k * q k)) as same by (unfold C'; field; lra).
    assert (C' * (phi k + c * (w k * q k)) <= C' * phi (S k)) by (apply Rmult_le_compat_l; lra); lra. }
  { intros k; specialize (range k); assert (C' * phi k <= C' * B) by (apply Rmult_le_compat_l; auto); lra. }
  set (limit := s_end - C' * p_end).
  assert (tends_to q limit) as converges.
  { intros e e_pos.
    destruct (both_converge (e / 2) ltac:(lra)) as (N & close).
    destruct (phi_converges (e / 2 / (C' + 1)) ltac:(apply Rdiv_lt_0_compat; lra)) as (M & near).
    exists (max N M); intros k later; specialize (close k ltac:(lia)); specialize (near k ltac:(lia)).
    assert (C' * Rabs (phi k - p_end) <= e / 2) as scaled.
    { apply Rle_trans with (C' * (e / 2 / (C' + 1))); [apply Rmult_le_compat_l; lra|].
      apply Rmult_le_reg_r with (C' + 1); [lra|].
      replace (C' * (e / 2 / (C' + 1)) * (C' + 1)) with (C' * (e / 2)) by (field; lra); nra. }
    replace (q k - limit) with ((q k + C' * phi k - s_end) - C' * (phi k - p_end)) by (unfold limit; ring).
    apply Rle_lt_trans with (1 := Rabs_triang _ _); rewrite Rabs_Ropp, Rabs_mult, (Rabs_pos_eq C') by assumption.
    lra. }
  destruct (Rle_lt_dec limit 0) as [at_most|positive].
  { intros e e_pos; destruct (converges e e_pos) as (N & close); exists N; intros k later.
    specialize (close k later); apply Rabs_def2 in close; specialize (range k).
    rewrite Rminus_0_r, Rabs_pos_eq; lra. }
  exfalso.
  destruct (converges (limit / 2) ltac:(lra)) as (N & close).
  set (gain := c * (limit / 2)).
  assert (0 < gain) as gain_pos by (apply Rmult_lt_0_compat; lra).
  assert (forall j, gain * (sum (N + j) w - sum N w) <= phi (N + j)%nat - phi N) as spent.
  { induction j as [|j IH]; [rewrite Nat.add_0_r; lra|].
    rewrite Nat.add_succ_r; simpl sum; specialize (grows (N + j)%nat); specialize (close (N + j)%nat ltac:(lia)).
    apply Rabs_def2 in close; specialize (w_nonneg (N + j)%nat).
    assert (gain * w (N + j)%nat <= c * (w (N + j)%nat * q (N + j)%nat)); [|lra].
    unfold gain; rewrite Rmult_assoc; apply Rmult_le_compat_l; [lra|].
    rewrite Rmult_comm; apply Rmult_le_compat_l; lra. }
  apply (endless (sum N w + (B - phi N) / gain)); intros k.
  destruct (Nat.le_gt_cases N k) as [later|before].
  - replace k with (N + (k - N))%nat by lia; specialize (spent (k - N)%nat); specialize (below (N + (k - N))%nat).
    apply Rmult_le_reg_l with gain; [exact gain_pos|].
    replace (gain * (sum N w + (B - phi N) / gain)) with (gain * sum N w + (B - phi N)) by (field; lra); lra.
  - apply Rle_trans with (sum N w).
    + apply (rises_from (fun j => sum j w)); [intros j; simpl; specialize (w_nonneg j); lra|lia].
    + assert (0 <= (B - phi N) / gain); [|lra].
      apply Rmult_le_pos; [specialize (below N); lra|apply Rlt_le, Rinv_0_lt_compat, gain_pos].
Qed.

(** What is at most a multiple of e^{-phi} vanishes, unless phi stays below a bound. *)
Lemma bounded_or_vanishes (phi q : nat -> R) (odds : R) :
  0 < odds -> (forall k, 0 <= q k) -> (forall k, phi k <= phi (S k)) ->
  (forall k, q k <= odds * exp (- phi k)) -> (exists B, forall k, phi k <= B) \/ tends_to q 0.
Proof.
  intros odds_pos nonneg up bound.
  destruct (classic (exists B, forall k, phi k <= B)) as [bounded|unbounded]; [left; exact bounded|right].
  intros e e_pos.
  destruct (not_all_ex_not _ _ (fun all => unbounded (ex_intro _ (ln (odds / e)) all))) as (j & high).
  apply Rnot_le_lt in high; exists j; intros k later; pose proof (rises_from phi up j k later).
  rewrite Rminus_0_r, Rabs_pos_eq by apply nonneg.
  apply Rle_lt_trans with (1 := bound k), Rlt_le_trans with (odds * exp (- ln (odds / e))).
  - apply Rmult_lt_compat_l; [assumption|apply exp_increasing; lra].
  - pose proof (Rdiv_lt_0_compat _ _ odds_pos e_pos).
    rewrite exp_Ropp, exp_ln by assumption; right; field; lra.
Qed.

(** phi rises by at least c w q in a step, q is at most a multiple of e^{-phi} and falls by at most C w q. *)
Lemma vanishes_by_its_growth (phi q w : nat -> R) (c C odds : R) :
  0 < c -> 0 <= C -> 0 < odds -> (forall k, 0 <= w k) -> (forall k, 0 <= q k) ->
  (forall k, phi k + c * (w k * q k) <= phi (S k)) -> (forall k, q k <= odds * exp (- phi k)) ->
  (forall k, q k - C * (w k * q k) <= q (S k)) ->
  diverges w -> tends_to q 0.
Proof.
  intros c_pos C_nonneg odds_pos w_nonneg nonneg grows bound falls endless.
  assert (forall k, phi k <= phi (S k)) as up.
  { intros k; specialize (grows k).
    assert (0 <= c * (w k * q k)) by (repeat apply Rmult_le_pos; auto; lra); lra. }
  destruct (bounded_or_vanishes phi q odds odds_pos nonneg up bound) as [(B & below)|done]; [|exact done].
  apply (vanishes_while_bounded phi q w c C B (odds * exp (- phi 0%nat))); try assumption.
  intros k; split; [apply nonneg|]; apply Rle_trans with (1 := bound k), Rmult_le_compat_l; [lra|].
  apply exp_le, Ropp_le_contravar, (rises_from phi up); lia.
Qed.

(** The same with w = 1, where q may fall as it likes. *)
Lemma bounded_by_its_growth (phi q : nat -> R) (c odds : R) :
  0 < c -> 0 < odds -> (forall k, 0 <= q k) -> (forall k, phi k + c * q k <= phi (S k)) ->
  (forall k, q k <= odds * exp (- phi k)) -> tends_to q 0.
Proof.
  intros c_pos odds_pos nonneg grows bound.
  assert (forall k, phi k <= phi (S k)) as up.
  { intros k; specialize (grows k); assert (0 <= c * q k) by (apply Rmult_le_pos; auto; lra); lra. }
  destruct (bounded_or_vanishes phi q odds odds_pos nonneg up bound) as [(B & below)|done]; [|exact done].
  destruct (bounded_converges phi B up below) as (limit & converges); intros e e_pos.
  destruct (converges (c * e / 2)) as (N & close); [apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|lra]|].
  exists N; intros k later; rewrite Rminus_0_r, Rabs_pos_eq by apply nonneg.
  pose proof (close k later) as first; pose proof (close (S k) ltac:(lia)) as second.
  apply Rabs_def2 in first; apply Rabs_def2 in second.
  specialize (grows k); apply Rmult_lt_reg_l with c; [assumption|lra].
Qed.
