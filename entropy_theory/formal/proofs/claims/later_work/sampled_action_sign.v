(** Entropy dynamics in reinforcement fine-tuning (arXiv 2602.03392), Theorem 3.2: the sign rule pi_k against
    e^{-H} for a bump of one logit, at any size. Where pi_k >= e^{-H}, raising logit k by any amount lowers
    entropy; where pi_k <= e^{-H}, lowering it does. To first order the sign of the change is that
    of e^{-H} - pi_k. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons Contributions Growth.
From Trusted.Statements.later_work Require sampled_action_sign.
Open Scope R_scope.

Definition bumped (z : vector) (k : nat) (h : R) : vector := fun a => z a + h * at_action k a.
(** log pi_k + H: positive where pi_k > e^{-H}. *)
Definition depth (n : nat) (z : vector) (k : nat) : R := log_softmax n z k + entropy n z.

(** What is not negative at the start, and increases wherever it is zero, is positive at once: a zero after the
    start would have negative values just before it. *)
Lemma becomes_positive s s' a b :
  a < b -> (forall t, a <= t <= b -> is_derive s t (s' t)) ->
  (forall t, a <= t <= b -> s t = 0 -> 0 < s' t) -> 0 <= s a -> 0 < s b.
Proof.
  intros order slope no_return start.
  assert (nonneg : forall t, a <= t <= b -> 0 <= s t).
  { intros t inside; apply (stays_nonneg s s' a t); [lra| | |exact start]; intros u u_inside;
      [apply slope|apply no_return]; lra. }
  destruct (nonneg b ltac:(lra)) as [positive|zero]; [exact positive|exfalso].
  assert (0 < s' b) as rises by (apply no_return; lra).
  assert (derivable_pt_lim s b (s' b)) as limit by (apply is_derive_Reals, slope; lra).
  destruct (limit (s' b) rises) as [[d d_positive] close]; simpl in close.
  set (h := Rmin (d / 2) (b - a)).
  assert (0 < h /\ h <= d / 2 /\ h <= b - a) as [h_positive [h_small h_inside]].
  { unfold h; split; [apply Rmin_glb_lt; lra|split; [apply Rmin_l|apply Rmin_r]]. }
  specialize (close (- h) ltac:(lra)); rewrite Rabs_left in close by lra.
  specialize (close ltac:(lra)); apply Rabs_def2 in close; destruct close as [_ close].
  rewrite <- zero in close.
  assert (0 < (s (b + - h) - 0) / - h) as quotient by lra.
  assert (0 <= s (b + - h)) as before by (apply nonneg; lra).
  replace ((s (b + - h) - 0) / - h) with (- (s (b + - h) / h)) in quotient by (field; lra).
  assert (0 <= s (b + - h) / h); [|lra].
  apply Rmult_le_pos; [exact before|apply Rlt_le, Rinv_0_lt_compat, h_positive].
Qed.

Section OneBump.

Variables (n : nat) (z : vector) (k : nat).
Hypothesis (two : (2 <= n)%nat) (inside : (k < n)%nat).

Let some : (0 < n)%nat := Nat.lt_le_trans 0 2 n Nat.lt_0_2 two.
Let s (h : R) : R := depth n (bumped z k h) k.
Let p (h : R) : R := softmax n (bumped z k h) k.

Lemma moves h a : (a < n)%nat -> is_derive (fun t => bumped z k t a) h (at_action k a).
Proof. intros _; unfold bumped; auto_derive; [trivial|ring]. Qed.

Lemma covariance_at_action h :
  covariance n (softmax n (bumped z k h)) (log_softmax n (bumped z k h)) (at_action k) = p h * s h.
Proof.
  rewrite covariance_log_softmax by (assumption || apply softmax_sum, some).
  rewrite covariance_centered_l by apply softmax_sum, some.
  transitivity (mean n (fun a =>
    softmax n (bumped z k h) a * centered n (softmax n (bumped z k h)) (bumped z k h) a) (at_action k)).
  { apply sum_ext; intros; ring. }
  rewrite mean_at_action by exact inside.
  unfold s, depth; rewrite log_softmax_plus_entropy by assumption; reflexivity.
Qed.

Lemma entropy_slope h : is_derive (fun t => entropy n (bumped z k t)) h (- (p h * s h)).
Proof.
  evar_last; [apply (is_derive_entropy n (bumped z k) (at_action k) h some); intros; apply moves; assumption|].
  rewrite covariance_at_action; reflexivity.
Qed.

Lemma depth_slope h : is_derive s h ((1 - p h) - p h * s h).
Proof.
  unfold s at 1, depth; evar_last.
  - apply @is_derive_plus; [|apply entropy_slope].
    apply (is_derive_log_softmax n (bumped z k) (at_action k) h some);
      [intros; apply moves; assumption|exact inside].
  - unfold centered; rewrite mean_at_action by exact inside.
    unfold plus, at_action, only; simpl; rewrite Nat.eqb_refl; unfold p; ring.
Qed.

(** With two actions or more none has probability one. *)
Lemma p_below_one h : p h < 1.
Proof.
  unfold p; rewrite <- (softmax_sum n (bumped z k h) some).
  set (other := if Nat.eqb k 0 then 1%nat else 0%nat).
  assert (other_inside : (other < n)%nat) by (unfold other; destruct (Nat.eqb k 0); lia).
  assert (different : other <> k).
  { unfold other; destruct (Nat.eqb_spec k 0); lia. }
  rewrite <- (mean_at_action n (softmax n (bumped z k h)) k inside); unfold mean.
  apply (sum_lt _ _ _ other); [|exact other_inside|].
  - intros a _; pose proof (softmax_pos n (bumped z k h) a some).
    unfold at_action, only; destruct (Nat.eqb k a); lra.
  - pose proof (softmax_pos n (bumped z k h) other some).
    unfold at_action, only; destruct (Nat.eqb_spec k other); [congruence|lra].
Qed.

Lemma p_positive h : 0 < p h.
Proof. apply softmax_pos, some. Qed.

Lemma depth_increases_at_zero h : s h = 0 -> 0 < (1 - p h) - p h * s h.
Proof. intros zero; rewrite zero; pose proof (p_below_one h); lra. Qed.

Lemma start b : bumped z k 0 b = z b.
Proof. unfold bumped; ring. Qed.

Lemma entropy_start : entropy n (bumped z k 0) = entropy n z.
Proof. apply entropy_ext; intros; apply start. Qed.

Lemma depth_start : s 0 = depth n z k.
Proof.
  unfold s, depth; rewrite entropy_start; f_equal; unfold log_softmax; f_equal.
  apply softmax_ext; [intros; apply start|exact inside].
Qed.

Lemma raising_lowers_entropy size :
  0 < size -> 0 <= depth n z k -> entropy n (bumped z k size) < entropy n z.
Proof.
  intros positive likely; rewrite <- entropy_start.
  apply (strictly_decreasing_from_slope (fun t => entropy n (bumped z k t)) (fun t => - (p t * s t)));
    [lra|intros; apply entropy_slope|].
  intros t t_inside; enough (0 < p t * s t) by lra.
  apply Rmult_lt_0_compat; [apply p_positive|].
  apply (becomes_positive s (fun t => (1 - p t) - p t * s t) 0 t); [lra| | |].
  - intros; apply depth_slope.
  - intros; apply depth_increases_at_zero; assumption.
  - rewrite depth_start; exact likely.
Qed.

Lemma lowering_lowers_entropy size :
  0 < size -> depth n z k <= 0 -> entropy n (bumped z k (- size)) < entropy n z.
Proof.
  intros positive rare; rewrite <- entropy_start.
  apply (strictly_increasing_from_slope (fun t => entropy n (bumped z k t)) (fun t => - (p t * s t)));
    [lra|intros; apply entropy_slope|].
  intros t t_inside; enough (0 < p t * - s t) by lra.
  apply Rmult_lt_0_compat; [apply p_positive|].
  (* Backwards in time minus the depth becomes positive. *)
  pose proof (becomes_positive (fun u => - s (- u)) (fun u => (1 - p (- u)) - p (- u) * s (- u)) 0 (- t))
    as backwards.
  cbv beta in backwards; rewrite Ropp_involutive, Ropp_0 in backwards.
  apply backwards; [lra| | |].
  - intros u _; evar_last.
    + apply @is_derive_opp, is_derive_mirrored, depth_slope.
    + unfold opp; simpl; ring.
  - intros u _ zero; apply depth_increases_at_zero; lra.
  - rewrite depth_start; lra.
Qed.

Lemma first_order_sign : derivative (fun t => entropy n (bumped z k t)) 0 (- (softmax n z k * depth n z k)).
Proof.
  apply derivative_of_is_derive; rewrite <- depth_start.
  replace (softmax n z k) with (p 0); [apply entropy_slope|].
  apply softmax_ext; [intros; apply start|exact inside].
Qed.

End OneBump.

Lemma sign_rule :
  forall (n : nat) (logits : vector) (size : R) (k : nat),
  (2 <= n)%nat -> 0 < size -> (k < n)%nat ->
  0 < - (entropy n (bumped logits k (if less (depth n logits k) 0 then - size else size))
          - entropy n logits)
  /\ (exp (- entropy n logits) <= softmax n logits k ->
      entropy n (bumped logits k size) < entropy n logits)
  /\ (softmax n logits k <= exp (- entropy n logits) ->
      entropy n (bumped logits k (- size)) < entropy n logits)
  /\ derivative (fun t => entropy n (bumped logits k t)) 0
       (- (softmax n logits k * depth n logits k)).
Proof.
  intros n logits size k two positive inside.
  assert (some : (0 < n)%nat) by lia.
  pose proof (raising_lowers_entropy n logits k two inside size positive) as raising.
  pose proof (lowering_lowers_entropy n logits k two inside size positive) as lowering.
  pose proof (softmax_pos n logits k some).
  split; [|split; [|split]].
  - destruct (less (depth n logits k) 0) eqn:rare.
    + apply is_less in rare; specialize (lowering (Rlt_le _ _ rare)); lra.
    + apply is_not_less in rare; specialize (raising rare); lra.
  - intros likely; apply raising; unfold depth, log_softmax.
    destruct likely as [strict|same].
    + apply ln_increasing in strict; [rewrite ln_exp in strict; lra|apply exp_pos].
    + rewrite <- same, ln_exp; lra.
  - intros rare; apply lowering; unfold depth, log_softmax.
    destruct rare as [strict|same].
    + apply ln_increasing in strict; [rewrite ln_exp in strict; lra|assumption].
    + rewrite same, ln_exp; lra.
  - apply first_order_sign; assumption.
Qed.

Theorem proved : Statements.later_work.sampled_action_sign.statement.
Proof.
  intros n logits size two positive.
  assert (same : forall k, (k < n)%nat ->
            Statements.later_work.sampled_action_sign.depth n logits k = depth n logits k).
  { intros k inside; symmetry; apply log_softmax_plus_entropy; [lia|exact inside]. }
  split; intros k inside; rewrite same by exact inside;
    destruct (sign_rule n logits size k two positive inside) as [falls [_ [_ rate]]].
  - rewrite Rplus_0_r; exact falls.
  - replace (- softmax n logits k * depth n logits k) with (- (softmax n logits k * depth n logits k)) by ring.
    exact rate.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.later_work.sampled_action_sign.witness.
Proof. exists 2%nat, (fun _ => 0), 1; witnessed. Qed.
