(** The total variance of one sample's gradient of tempered REINFORCE, and the concentration of q^T on the solved
    state: |q^T|^2 does not rise with T. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics TemperedReinforce Masks Groups Monotone Conditional
  Learning Reward SolvedFace.
Open Scope R_scope.

(** V(T) *)
Definition gradient_variance (n : nat) (z : vector) (correct : mask) (temperature : R) : R :=
  let pi := softmax n z in
  let square x := sum n (fun a => x a * x a) in
  total_on n correct (fun a => softmax n (tempered temperature z) a * (1 - 2 * pi a + square pi))
  - square (unit_step n z correct temperature).

(** V(T) = 1 - |q^T|^2 where every action is right. *)
Lemma variance_on_solved_state n z A T :
  (0 < n)%nat -> everything n A ->
  gradient_variance n z A T
  = 1 - sum n (fun a => softmax n (tempered T z) a * softmax n (tempered T z) a).
Proof.
  intros some all; unfold gradient_variance.
  set (q := softmax n z); set (hot := softmax n (tempered T z)).
  rewrite total_on_everything by assumption.
  rewrite (sum_ext n (fun a => unit_step n z A T a * unit_step n z A T a)
             (fun a => (hot a - q a) * (hot a - q a))).
  2: { intros a inside; unfold unit_step.
    rewrite only_in, total_on_everything, softmax_sum by (auto || assumption); fold hot q; ring. }
  rewrite (sum_ext n (fun a => hot a * (1 - 2 * q a + sum n (fun b => q b * q b)))
             (fun a => hot a - 2 * (hot a * q a) + sum n (fun b => q b * q b) * hot a)) by (intros; ring).
  rewrite (sum_ext n (fun a => (hot a - q a) * (hot a - q a))
             (fun a => hot a * hot a - 2 * (hot a * q a) + q a * q a)) by (intros; ring).
  rewrite !sum_plus, !sum_minus, !sum_scal.
  assert (sum n hot = 1) as one by (apply softmax_sum, some).
  rewrite one; ring.
Qed.

Lemma squares_fall n z T T' :
  (0 < n)%nat -> 0 < T -> T <= T' ->
  sum n (fun a => softmax n (tempered T' z) a * softmax n (tempered T' z) a)
  <= sum n (fun a => softmax n (tempered T z) a * softmax n (tempered T z) a).
Proof.
  intros some T_pos hotter.
  assert (forall t a, (a < n)%nat -> conditional n (tempered t z) all_actions a = softmax n (tempered t z) a)
    as same by (intros; apply conditional_everything; [apply all_everything|assumption]).
  assert (forall t f, mean n (conditional n (tempered t z) all_actions) f = mean n (softmax n (tempered t z)) f)
    as same_mean by (intros; apply sum_ext; intros; rewrite same by assumption; reflexivity).
  assert (forall t, 0 < t -> forall a b, (a < n)%nat -> (b < n)%nat -> all_actions a = true ->
            all_actions b = true -> z a <= z b -> softmax n (tempered t z) a <= softmax n (tempered t z) b)
    as ordered.
  { intros t t_pos a b _ _ _ _ below; apply softmax_le; [assumption|].
    unfold tempered, Rdiv; apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, t_pos|assumption]. }
  pose proof (mean_ordered_falls n z all_actions (all_some n some) (softmax n (tempered T' z)) T T' T_pos hotter
                (ordered T' ltac:(lra))) as first.
  pose proof (mean_ordered_falls n z all_actions (all_some n some) (softmax n (tempered T z)) T T' T_pos hotter
                (ordered T T_pos)) as second.
  rewrite !same_mean in first, second; unfold mean in first, second.
  assert (sum n (fun a => softmax n (tempered T z) a * softmax n (tempered T' z) a)
          = sum n (fun a => softmax n (tempered T' z) a * softmax n (tempered T z) a)) as swap
    by (apply sum_ext; intros; ring).
  lra.
Qed.
