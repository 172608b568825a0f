(** Extension: the flow along an entropy level set. On any curve of parameters that moves with the
    gradient g of the objective minus its component along the gradient h of the entropy, the entropy
    stays what it was and the objective never falls; it rises over every stretch of time in which
    there is a moment at which the step does not vanish. *)

From Coq Require Import Reals Lra Lia Classical.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Gradients Projection TabularGradients.
From Trusted.Statements.extension Require level_set_flow.
Open Scope R_scope.

Theorem any_parametrization :
  forall (d : nat) (J H : vector -> R) (theta g h : R -> vector),
  (forall t, has_gradient d J (theta t) (g t)) ->
  (forall t, has_gradient d H (theta t) (h t)) ->
  (forall t i, (i < d)%nat ->
    derivative (fun s => theta s i) t (projected d (g t) (h t) i)) ->
  forall t later, t <= later ->
  H (theta later) = H (theta t)
  /\ J (theta t) <= J (theta later)
  /\ ((exists s i, t <= s <= later /\ (i < d)%nat /\ projected d (g s) (h s) i <> 0) ->
      t < later -> J (theta t) < J (theta later)).
Proof.
  intros d J H theta g h gradient_J gradient_H flows.
  assert (forall t, derivative (fun s => H (theta s)) t 0) as H_rate.
  { intros t; pose proof (chain_rule d H theta t (h t) _ (gradient_H t) (flows t)) as rate.
    rewrite projected_orthogonal in rate; exact rate. }
  assert (forall t, derivative (fun s => J (theta s)) t
      (sum d (fun i => projected d (g t) (h t) i * projected d (g t) (h t) i))) as J_rate.
  { intros t; pose proof (chain_rule d J theta t (g t) _ (gradient_J t) (flows t)) as rate.
    rewrite along_projected in rate; exact rate. }
  assert (forall t later, t <= later -> J (theta t) <= J (theta later)) as rises.
  { intros t later before.
    destruct (MVT_gen (fun s => J (theta s)) t later
                (fun t => sum d (fun i => projected d (g t) (h t) i * projected d (g t) (h t) i)))
      as (middle & _ & difference).
    - intros s _; apply is_derive_Reals, J_rate.
    - intros s _; apply derivable_continuous_pt; exists (sum d (fun i =>
        projected d (g s) (h s) i * projected d (g s) (h s) i)); apply J_rate.
    - assert (0 <= sum d (fun i => projected d (g middle) (h middle) i
                                   * projected d (g middle) (h middle) i) * (later - t))
        by (apply Rmult_le_pos; [apply sum_squares_nonneg|lra]).
      lra. }
  intros t later before; repeat split.
  - destruct (MVT_gen (fun s => H (theta s)) t later (fun _ => 0)) as (middle & _ & difference).
    + intros s _; apply is_derive_Reals, H_rate.
    + intros s _; apply derivable_continuous_pt; exists 0; apply H_rate.
    + lra.
  - apply rises, before.
  - intros (s & i & between & inside & moves) strictly.
    assert (0 < sum d (fun i => projected d (g s) (h s) i * projected d (g s) (h s) i)) as rate.
    { apply (sum_pos_term d _ i); [intros; apply Rle_0_sqr|assumption|].
      apply Rsqr_pos_lt in moves; exact moves. }
    destruct (Rle_lt_or_eq_dec _ _ (rises t later before)) as [higher|same]; [exact higher|].
    exfalso.
    (* J would be constant in between, so that its rate at s is zero. *)
    assert (forall x, t <= x <= later -> J (theta x) = J (theta t)) as constant.
    { intros x inside_x; pose proof (rises t x); pose proof (rises x later); lra. }
    set (speed := sum d _) in rate.
    destruct (J_rate s (speed / 2) ltac:(lra)) as (r & close); fold speed in close.
    assert (exists q, q <> 0 /\ Rabs q < r /\ t <= s + q <= later) as (q & other & small & still).
    { pose proof (cond_pos r) as r_positive.
      destruct (Rlt_dec s later) as [room|none].
      - exists (Rmin (r / 2) (later - s)).
        assert (0 < Rmin (r / 2) (later - s)) by (apply Rmin_pos; lra).
        pose proof (Rmin_l (r / 2) (later - s)); pose proof (Rmin_r (r / 2) (later - s)).
        rewrite Rabs_pos_eq by lra; repeat split; lra.
      - exists (- Rmin (r / 2) (s - t)).
        assert (0 < Rmin (r / 2) (s - t)) by (apply Rmin_pos; lra).
        pose proof (Rmin_l (r / 2) (s - t)); pose proof (Rmin_r (r / 2) (s - t)).
        rewrite Rabs_Ropp, Rabs_pos_eq by lra; repeat split; lra. }
    specialize (close q other small).
    rewrite (constant (s + q) still), (constant s between) in close.
    replace ((J (theta t) - J (theta t)) / q - speed) with (- speed) in close by (field; exact other).
    rewrite Rabs_Ropp, Rabs_pos_eq in close by lra; lra.
Qed.

(** The statement as generated: one state, and its logits as the parameters. *)
Theorem proved : Statements.extension.level_set_flow.statement.
Proof.
  unfold Statements.extension.level_set_flow.statement.
  intros n logits reward at_least_two _ _.
  assert (0 < n)%nat as some by lia.
  split.
  - apply Rmult_le_pos; [|lra].
    apply sum_nonneg; intros a _; apply sum_nonneg; intros b _; apply Rle_0_sqr.
  - intros path follows start stop before.
    destruct (any_parametrization n (fun x => mean n (softmax n x) reward) (fun x => entropy n x) path
                (fun t => Statements.extension.level_set_flow.reward_gradient n (path t) reward)
                (fun t => entropy_gradient n (path t))
                (fun t => gradient_of_performance n (path t) reward some)
                (fun t => gradient_of_entropy n (path t) some) follows start stop before)
      as (same & rises & strictly).
    split; [split; [exact same|exact rises]|].
    intros moment between (less & moves).
    apply strictly; [|exact less].
    apply not_all_ex_not in moves; destruct moves as (i & moves).
    apply imply_to_and in moves; destruct moves as (inside & moves).
    exists moment, i; exact (conj between (conj inside moves)).
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.level_set_flow.witness.
Proof. exists 2%nat, (fun _ => 0), (fun _ => 0); witnessed. Qed.

Theorem witness_1 : Statements.extension.level_set_flow.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun _ => 0); do 3 (split; [witnessed|]).
  exists (fun _ _ => 0); split; [|exists 0, 1; lra]; intros time a _.
  assert (forall b, Statements.extension.level_set_flow.reward_gradient 2 (fun _ => 0) (fun _ => 0) b = 0) as still
    by (intros; unfold Statements.extension.level_set_flow.reward_gradient, centered, mean; simpl; ring).
  replace (Statements.extension.level_set_flow.level_step _ _ _ _) with 0; [apply derivable_pt_lim_const|].
  unfold Statements.extension.level_set_flow.level_step.
  rewrite (sum_ext 2 (fun b => Statements.extension.level_set_flow.reward_gradient _ _ _ _ * _) (fun _ => 0)) by (intros; rewrite still; ring).
  rewrite still, sum_zero; unfold Rdiv; destruct (less _ _); ring.
Qed.

Theorem defined : Statements.extension.level_set_flow.defined.
Proof. domains. Qed.
