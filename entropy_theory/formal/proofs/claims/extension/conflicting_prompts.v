(** Two prompts that pull a shared parameter apart: exact policy gradient tends to the parameter in the middle, where
    the mean reward is largest, below 1, and both entropies stay above log |A*| = 0. The one-state limits do not
    carry over to prompts that share parameters. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Monotone Inequalities StepSizes.
From Trusted.Statements.extension Require conflicting_prompts.
Import Statements.extension.conflicting_prompts.
Open Scope R_scope.

Lemma chance_range x : 0 < chance x < 1.
Proof.
  pose proof (exp_pos (- x)); unfold chance; split; [apply Rdiv_lt_0_compat; lra|].
  apply Rmult_lt_reg_r with (1 + exp (- x)); [lra|].
  replace (1 / (1 + exp (- x)) * (1 + exp (- x))) with 1 by (field; lra); lra.
Qed.

Lemma is_derive_chance x : is_derive chance x (chance x * chance (- x)).
Proof.
  unfold chance; rewrite Ropp_involutive; pose proof (exp_pos (- x)) as positive.
  auto_derive; [lra|]; replace (exp x) with (/ exp (- x)) by (rewrite exp_Ropp, Rinv_inv; reflexivity).
  field; split; lra.
Qed.

Lemma is_derive_mean_chance offset x : is_derive (fun t => mean_chance t offset) x (reward_slope x offset).
Proof.
  assert (is_derive (fun t => chance (offset - t)) x (- (chance (offset - x) * chance (x - offset)))) as other.
  { evar_last.
    - apply (is_derive_comp chance (fun t => offset - t) x _ (-1) (is_derive_chance (offset - x))).
      auto_derive; [trivial|ring].
    - unfold scal; simpl; unfold mult; simpl; replace (- (offset - x)) with (x - offset) by ring; ring. }
  unfold mean_chance, reward_slope.
  apply (is_derive_ext (fun t => / 2 * (chance t + chance (offset - t)))); [intros; apply Rmult_comm|].
  evar_last; [apply is_derive_scal, @is_derive_plus; [apply is_derive_chance|exact other]|].
  unfold plus; simpl; field.
Qed.

(** f(d): how fast the parameter moves at s + d towards s = b/2. *)
Definition pull (s d : R) : R :=
  let e := exp s in let u := exp d in
  e * u * (u * u - 1) * (e * e - 1) / (2 * ((1 + e * u) * (1 + e * u) * ((u + e) * (u + e)))).

Lemma chances_beside s d :
  chance (s + d) = exp s * exp d / (1 + exp s * exp d) /\ chance (s - d) = exp s / (exp d + exp s).
Proof.
  pose proof (exp_pos s); pose proof (exp_pos d).
  assert (0 < exp s * exp d) by (apply Rmult_lt_0_compat; assumption).
  unfold chance; replace (- (s - d)) with (d + - s) by ring.
  rewrite (exp_Ropp (s + d)), !exp_plus, exp_Ropp; split; field; repeat split; lra.
Qed.

Lemma slope_after s d : reward_slope (s + d) (2 * s) = - pull s d.
Proof.
  unfold reward_slope; replace (2 * s - (s + d)) with (s - d) by ring.
  replace (s + d - 2 * s) with (- s + d) by ring; replace (- (s + d)) with (- s - d) by ring.
  destruct (chances_beside s d) as (-> & ->), (chances_beside (- s) d) as (-> & ->).
  pose proof (exp_pos s); pose proof (exp_pos d); rewrite exp_Ropp.
  assert (0 < exp s * exp d) by (apply Rmult_lt_0_compat; assumption).
  unfold pull; field; repeat split; lra.
Qed.

Lemma slope_mirrored offset x : reward_slope (offset - x) offset = - reward_slope x offset.
Proof.
  unfold reward_slope; replace (- (offset - x)) with (x - offset) by ring.
  replace (offset - (offset - x)) with x by ring; replace (offset - x - offset) with (- x) by ring; field.
Qed.

Lemma pull_between s d D :
  0 < s -> 0 <= d <= D ->
  let c := exp s * (exp s * exp s - 1)
           / ((1 + exp s * exp D) * (1 + exp s * exp D) * ((exp D + exp s) * (exp D + exp s))) in
  0 < c /\ c * d <= pull s d <= d / 4.
Proof.
  intros s_pos (d_nonneg & d_most) c.
  pose proof (exp_gt_1 s s_pos) as e_above; pose proof (exp_ge_1 d d_nonneg) as u_above.
  pose proof (exp_le d D d_most) as U_above; pose proof (exp_ineq1_le d) as u_tangent.
  pose proof (tanh_at_most d d_nonneg) as tanh; unfold c, pull; clear c.
  set (e := exp s) in *; set (u := exp d) in *; set (U := exp D) in *.
  assert (0 < e * e - 1) as square by nra.
  assert (0 < e * u) by (apply Rmult_lt_0_compat; lra); assert (0 < e * U) by (apply Rmult_lt_0_compat; lra).
  set (K := (1 + e * u) * (u + e)); set (L := (1 + e * U) * (U + e)).
  assert (0 < K) as K_pos by (apply Rmult_lt_0_compat; lra).
  assert (K <= L) as K_most.
  { apply Rmult_le_compat; [lra|lra| |lra]; apply Rplus_le_compat_l, Rmult_le_compat_l; lra. }
  replace ((1 + e * U) * (1 + e * U) * ((U + e) * (U + e))) with (L * L) by (unfold L; ring).
  replace (2 * ((1 + e * u) * (1 + e * u) * ((u + e) * (u + e)))) with (2 * (K * K)) by (unfold K; ring).
  assert (0 < K * K) by (apply Rmult_lt_0_compat; assumption).
  assert (K * K <= L * L) as squares by (apply Rmult_le_compat; lra).
  assert (0 < e * (e * e - 1)) as scale by (apply Rmult_lt_0_compat; lra).
  split; [apply Rdiv_lt_0_compat; lra|split].
  - apply Rmult_le_reg_r with (L * L); [lra|].
    replace (e * (e * e - 1) / (L * L) * d * (L * L)) with (e * (e * e - 1) * d) by (field; lra).
    apply Rle_trans with (e * u * (u * u - 1) * (e * e - 1) / (2 * (K * K)) * (K * K)).
    + replace (e * u * (u * u - 1) * (e * e - 1) / (2 * (K * K)) * (K * K))
        with (e * (e * e - 1) * (u * (u * u - 1) / 2)) by (field; lra).
      apply Rmult_le_compat_l; [lra|]; nra.
    + apply Rmult_le_compat_l; [|exact squares]; apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat; lra].
      repeat apply Rmult_le_pos; nra.
  - (* (e^2 - 1) u <= K, and (u^2 - 1) e <= K d/2 *)
    assert ((e * e - 1) * u <= K) as first by (unfold K; nra).
    assert ((u * u - 1) * e <= K * (d / 2)) as second.
    { apply Rle_trans with (K * ((u - 1) / (u + 1))).
      - apply Rmult_le_reg_r with (u + 1); [lra|].
        replace (K * ((u - 1) / (u + 1)) * (u + 1)) with (K * (u - 1)) by (field; lra).
        replace ((u * u - 1) * e * (u + 1)) with ((u + 1) * (u + 1) * e * (u - 1)) by ring.
        apply Rmult_le_compat_r; [lra|]; enough (0 <= u * ((e - 1) * (e - 1))) by (unfold K; lra).
        apply Rmult_le_pos; [lra|apply Rle_0_sqr].
      - apply Rmult_le_compat_l; [lra|]; apply Rmult_le_reg_r with (u + 1); [lra|].
        replace ((u - 1) / (u + 1) * (u + 1)) with (u - 1) by (field; lra); lra. }
    assert ((e * e - 1) * u * ((u * u - 1) * e) <= K * (K * (d / 2))) as product.
    { apply Rmult_le_compat; [apply Rmult_le_pos; lra|apply Rmult_le_pos; nra|exact first|exact second]. }
    apply Rmult_le_reg_r with (2 * (K * K)); [lra|].
    replace (e * u * (u * u - 1) * (e * e - 1) / (2 * (K * K)) * (2 * (K * K)))
      with ((e * e - 1) * u * ((u * u - 1) * e)) by (field; lra).
    replace (d / 4 * (2 * (K * K))) with (K * (K * (d / 2))) by field; exact product.
Qed.

(** A step towards the middle, on the same side of it. *)
Lemma step_from offset theta eta :
  let s := offset / 2 in let after := after_shared_step theta offset eta in
  (0 <= theta - s /\ after - s = theta - s - eta * pull s (theta - s))
  \/ (theta - s <= 0 /\ after - s = theta - s + eta * pull s (s - theta)).
Proof.
  intros s after; unfold after, after_shared_step; replace offset with (2 * s) by (unfold s; field).
  destruct (Rle_lt_dec s theta) as [above|below]; [left|right]; (split; [lra|]).
  - replace theta with (s + (theta - s)) at 2 by ring; rewrite slope_after; ring.
  - replace theta with (2 * s - (s + (s - theta))) at 2 by ring; rewrite slope_mirrored, slope_after; ring.
Qed.

Lemma step_range s d eta : 0 < s -> 0 <= eta <= 4 -> 0 <= d -> 0 <= eta * pull s d <= d.
Proof.
  intros s_pos eta_range d_nonneg; destruct (pull_between s d d s_pos ltac:(lra)) as (c_pos & least & most).
  assert (0 <= pull s d) as nonneg.
  { apply Rle_trans with (2 := least), Rmult_le_pos; [apply Rlt_le, c_pos|exact d_nonneg]. }
  split; [apply Rmult_le_pos; lra|].
  apply Rle_trans with (4 * (d / 4)); [apply Rmult_le_compat; lra|lra].
Qed.

Lemma step_distance offset theta eta :
  0 < offset -> 0 <= eta <= 4 ->
  Rabs (after_shared_step theta offset eta - offset / 2)
  = Rabs (theta - offset / 2) - eta * pull (offset / 2) (Rabs (theta - offset / 2)).
Proof.
  intros positive eta_range; assert (0 < offset / 2) as s_pos by lra.
  destruct (step_from offset theta eta) as [(side & ->)|(side & ->)].
  - pose proof (step_range _ _ _ s_pos eta_range side); rewrite !Rabs_pos_eq; lra.
  - pose proof (step_range (offset / 2) (offset / 2 - theta) eta s_pos eta_range ltac:(lra)).
    rewrite !Rabs_left1; [|lra|lra].
    replace (- (theta - offset / 2)) with (offset / 2 - theta) by ring; lra.
Qed.

Lemma tends_to_the_middle offset theta (rates : nat -> R) :
  0 < offset -> (forall k, 0 <= rates k <= 4) -> diverges rates ->
  tends_to (run (fun j c => after_shared_step c offset (rates j)) theta) (offset / 2).
Proof.
  intros positive range endless; assert (0 < offset / 2) as s_pos by lra.
  set (path := run (fun j c => after_shared_step c offset (rates j)) theta).
  set (off := fun k => Rabs (path k - offset / 2)).
  assert (forall k, off (S k) = off k - rates k * pull (offset / 2) (off k)) as moves
    by (intros k; apply step_distance; auto).
  assert (forall k, 0 <= off k) as off_nonneg by (intros; apply Rabs_pos).
  assert (forall k, off k <= off 0%nat) as nearer.
  { intros k; enough (- off 0%nat <= - off k) by lra; apply (rises_from (fun j => - off j)); [|lia]; intros j.
    rewrite moves; pose proof (step_range (offset / 2) (off j) (rates j) s_pos (range j) (off_nonneg j)); lra. }
  destruct (pull_between (offset / 2) 0 (off 0%nat) s_pos ltac:(split; [lra|apply off_nonneg])) as (c_pos & _).
  match type of c_pos with 0 < ?c => set (speed := c) in c_pos end.
  assert (forall k, speed * off k <= pull (offset / 2) (off k) <= off k / 4) as pulls.
  { intros k; apply (pull_between (offset / 2) (off k) (off 0%nat)); [exact s_pos|split; auto]. }
  assert (tends_to off 0) as vanishes.
  { apply (vanishes_while_bounded (fun k => - off k) off rates speed (1 / 4) 0 (off 0%nat)); try assumption.
    - lra.
    - intros k; apply range.
    - auto.
    - intros k; rewrite moves; destruct (pulls k), (range k).
      assert (rates k * (speed * off k) <= rates k * pull (offset / 2) (off k))
        by (apply Rmult_le_compat_l; lra); lra.
    - intros k; specialize (off_nonneg k); lra.
    - intros k; rewrite moves; destruct (pulls k), (range k).
      assert (rates k * pull (offset / 2) (off k) <= rates k * (off k / 4))
        by (apply Rmult_le_compat_l; lra); lra. }
  intros e e_pos; destruct (vanishes e e_pos) as (N & close); exists N; intros k later; specialize (close k later).
  unfold off in close; rewrite Rminus_0_r, Rabs_Rabsolu in close; exact close.
Qed.

Lemma tends_to_through f u l : ex_derive f l -> tends_to u l -> tends_to (fun k => f (u k)) (f l).
Proof.
  intros smooth converges; apply (continuity_seq f u l); [|exact converges].
  apply continuity_pt_filterlim, (ex_derive_continuous f l smooth).
Qed.

Lemma ex_derive_entropy x : ex_derive (fun t => binary_entropy (chance t)) x.
Proof.
  pose proof (chance_range x).
  apply (ex_derive_comp binary_entropy chance); [unfold binary_entropy; auto_derive; lra|].
  exists (chance x * chance (- x)); apply is_derive_chance.
Qed.

(** The mean reward is largest in the middle. *)
Lemma middle_is_best s d : 0 < s -> chance (s + d) + chance (s - d) <= 2 * chance s.
Proof.
  intros s_pos; destruct (chances_beside s d) as (-> & ->).
  pose proof (exp_pos d) as u_pos; pose proof (exp_gt_1 s s_pos) as e_above.
  assert (chance s = exp s / (1 + exp s)) as ->.
  { replace s with (s - 0) at 1 by ring; destruct (chances_beside s 0) as (_ & ->); rewrite exp_0; reflexivity. }
  set (e := exp s) in *; set (u := exp d) in *; assert (0 < e * u) by (apply Rmult_lt_0_compat; lra).
  apply Rmult_le_reg_r with ((1 + e * u) * (u + e) * (1 + e)); [repeat apply Rmult_lt_0_compat; lra|].
  replace ((e * u / (1 + e * u) + e / (u + e)) * ((1 + e * u) * (u + e) * (1 + e)))
    with (e * (u * (u + e) + (1 + e * u)) * (1 + e)) by (field; split; lra).
  replace (2 * (e / (1 + e)) * ((1 + e * u) * (u + e) * (1 + e)))
    with (2 * e * ((1 + e * u) * (u + e))) by (field; lra).
  enough (0 <= e * ((e - 1) * ((u - 1) * (u - 1)))) by lra.
  apply Rmult_le_pos; [lra|apply Rmult_le_pos; [lra|apply Rle_0_sqr]].
Qed.

Theorem proved : Statements.extension.conflicting_prompts.statement.
Proof.
  intros theta offset learning_rate positive rate_pos rate_small; assert (0 < offset / 2) as s_pos by lra.
  split; [|split; [|split; [|split; [|split]]]].
  - destruct (step_from offset theta learning_rate) as [(side & ->)|(side & ->)].
    + pose proof (step_range _ _ learning_rate s_pos ltac:(lra) side); split; apply Rmult_le_pos; lra.
    + pose proof (step_range (offset / 2) (offset / 2 - theta) learning_rate s_pos ltac:(lra) ltac:(lra)).
      split; rewrite <- Rmult_opp_opp; apply Rmult_le_pos; lra.
  - apply is_derive_Reals, is_derive_mean_chance.
  - unfold mean_chance; pose proof (middle_is_best (offset / 2) (theta - offset / 2) s_pos) as best.
    replace (offset / 2 + (theta - offset / 2)) with theta in best by ring.
    replace (offset / 2 - (theta - offset / 2)) with (offset - theta) in best by field.
    replace (offset - offset / 2) with (offset / 2) by field; lra.
  - unfold mean_chance; replace (offset - offset / 2) with (offset / 2) by field; field.
  - pose proof (chance_range (offset / 2)) as between; split; [lra|].
    apply Rlt_le_trans with (2 := binary_entropy_lower (chance (offset / 2)) ltac:(lra)).
    pose proof ln_2_pos; apply Rmult_lt_0_compat; [lra|apply Rmult_lt_0_compat; lra].
  - intros rates range endless; apply endless_form in endless.
    pose proof (tends_to_the_middle offset theta rates positive range endless) as ends.
    split; [split; [split; [exact ends|]|]|].
    + replace (chance (offset / 2)) with (mean_chance (offset / 2) offset).
      2: { unfold mean_chance; replace (offset - offset / 2) with (offset / 2) by field; field. }
      refine (tends_to_through (fun t => mean_chance t offset) _ _ _ ends).
      exists (reward_slope (offset / 2) offset); apply is_derive_mean_chance.
    + exact (tends_to_through (fun t => binary_entropy (chance t)) _ _ (ex_derive_entropy _) ends).
    + replace (binary_entropy (chance (offset / 2))) with (binary_entropy (chance (offset - offset / 2)))
        by (do 2 f_equal; field).
      refine (tends_to_through (fun t => binary_entropy (chance (offset - t))) _ _ _ ends).
      apply (ex_derive_comp (fun t => binary_entropy (chance t)) (fun t => offset - t));
        [apply ex_derive_entropy|auto_derive; trivial].
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.conflicting_prompts.witness.
Proof. exists 0, 1, 1; repeat split; lra. Qed.

Theorem witness_1 : Statements.extension.conflicting_prompts.witness_1.
Proof.
  exists 0, 1, 1; repeat split; try lra; exists (fun _ => 1); split; [intros; lra|].
  apply (endless_form (fun _ => 1)), constant_diverges; lra.
Qed.

Lemma chances_defined x : chance_defined x.
Proof. pose proof (exp_pos (- x)); unfold chance_defined; lra. Qed.

Theorem defined : Statements.extension.conflicting_prompts.defined.
Proof.
  intros theta offset learning_rate _ _ _.
  repeat (split || intros); solve [apply chances_defined | apply chance_range].
Qed.
