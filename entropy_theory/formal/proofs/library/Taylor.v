(** Taylor's formula on [0, 1] with a bound on the last derivative, from one side at a time.

    Only what comparing slopes gives: a function that starts at or above 0 and does not fall stays there. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

Lemma nonneg_from_slope (f slope : R -> R) :
  (forall t, 0 <= t <= 1 -> is_derive f t (slope t)) ->
  (forall t, 0 <= t <= 1 -> 0 <= slope t) ->
  0 <= f 0 -> forall t, 0 <= t <= 1 -> 0 <= f t.
Proof.
  intros derives rises start t inside.
  destruct (MVT_gen f 0 t slope) as [c [between same]].
  - intros x; rewrite Rmin_left, Rmax_right by lra; intros; apply derives; lra.
  - intros x; rewrite Rmin_left, Rmax_right by lra; intros.
    apply continuity_pt_filterlim.
    apply (ex_derive_continuous f x); exists (slope x); apply derives; lra.
  - rewrite Rmin_left, Rmax_right in between by lra.
    assert (0 <= slope c * (t - 0)) by (apply Rmult_le_pos; [apply rises; lra|lra]).
    lra.
Qed.

(** f(1) <= f(0) + f'(0) + K/2 where f'' <= K. *)
Lemma taylor_2_upper (f f1 f2 : R -> R) K :
  (forall t, 0 <= t <= 1 -> is_derive f t (f1 t)) ->
  (forall t, 0 <= t <= 1 -> is_derive f1 t (f2 t)) ->
  (forall t, 0 <= t <= 1 -> f2 t <= K) ->
  f 1 - f 0 - f1 0 <= K / 2.
Proof.
  intros first second bound.
  assert (forall t, 0 <= t <= 1 -> 0 <= K * t - (f1 t - f1 0)) as slopes.
  { apply (nonneg_from_slope _ (fun t => K - f2 t)); [intros t inside| |ring_simplify; lra].
    - specialize (second t inside).
      auto_derive; [exists (f2 t); exact second|].
      rewrite (is_derive_unique (fun x : R => f1 x) _ _ second); ring.
    - intros t inside; specialize (bound t inside); lra. }
  assert (0 <= K / 2 * 1 ^ 2 - (f 1 - f 0 - f1 0 * 1)) as done.
  { apply (nonneg_from_slope (fun t => K / 2 * t ^ 2 - (f t - f 0 - f1 0 * t))
             (fun t => K * t - (f1 t - f1 0))); [|exact slopes| |lra].
    - intros t inside; specialize (first t inside).
      auto_derive; [exists (f1 t); exact first|].
      rewrite (is_derive_unique (fun x : R => f x) _ _ first); field.
    - ring_simplify; lra. }
  ring_simplify in done; lra.
Qed.

Lemma taylor_2_lower (f f1 f2 : R -> R) K :
  (forall t, 0 <= t <= 1 -> is_derive f t (f1 t)) ->
  (forall t, 0 <= t <= 1 -> is_derive f1 t (f2 t)) ->
  (forall t, 0 <= t <= 1 -> - K <= f2 t) ->
  - (K / 2) <= f 1 - f 0 - f1 0.
Proof.
  intros first second bound.
  assert (- f 1 - - f 0 - - f1 0 <= K / 2); [|lra].
  apply (taylor_2_upper (fun t => - f t) (fun t => - f1 t) (fun t => - f2 t)); intros t inside.
  - apply @is_derive_opp, first, inside.
  - apply @is_derive_opp, second, inside.
  - specialize (bound t inside); lra.
Qed.

Lemma taylor_2 (f f1 f2 : R -> R) K :
  (forall t, 0 <= t <= 1 -> is_derive f t (f1 t)) ->
  (forall t, 0 <= t <= 1 -> is_derive f1 t (f2 t)) ->
  (forall t, 0 <= t <= 1 -> Rabs (f2 t) <= K) ->
  Rabs (f 1 - f 0 - f1 0) <= K / 2.
Proof.
  intros first second bound; apply Rabs_le; split.
  - apply (taylor_2_lower f f1 f2); [assumption|assumption|].
    intros t inside; apply (Rabs_le_between (f2 t)), bound, inside.
  - apply (taylor_2_upper f f1 f2); [assumption|assumption|].
    intros t inside; apply (Rabs_le_between (f2 t)), bound, inside.
Qed.

Lemma taylor_3_upper (f f1 f2 f3 : R -> R) K :
  (forall t, 0 <= t <= 1 -> is_derive f t (f1 t)) ->
  (forall t, 0 <= t <= 1 -> is_derive f1 t (f2 t)) ->
  (forall t, 0 <= t <= 1 -> is_derive f2 t (f3 t)) ->
  (forall t, 0 <= t <= 1 -> f3 t <= K) ->
  f 1 - f 0 - f1 0 - f2 0 / 2 <= K / 6.
Proof.
  intros first second third bound.
  assert (forall t, 0 <= t <= 1 -> 0 <= K * t - (f2 t - f2 0)) as curvatures.
  { apply (nonneg_from_slope _ (fun t => K - f3 t)); [intros t inside| |ring_simplify; lra].
    - specialize (third t inside).
      auto_derive; [exists (f3 t); exact third|].
      rewrite (is_derive_unique (fun x : R => f2 x) _ _ third); ring.
    - intros t inside; specialize (bound t inside); lra. }
  assert (forall t, 0 <= t <= 1 -> 0 <= K / 2 * t ^ 2 - (f1 t - f1 0 - f2 0 * t)) as slopes.
  { apply (nonneg_from_slope _ (fun t => K * t - (f2 t - f2 0)));
      [intros t inside|exact curvatures|ring_simplify; lra].
    specialize (second t inside).
    auto_derive; [exists (f2 t); exact second|].
    rewrite (is_derive_unique (fun x : R => f1 x) _ _ second); field. }
  assert (0 <= K / 6 * 1 ^ 3 - (f 1 - f 0 - f1 0 * 1 - f2 0 / 2 * 1 ^ 2)) as done.
  { apply (nonneg_from_slope (fun t => K / 6 * t ^ 3 - (f t - f 0 - f1 0 * t - f2 0 / 2 * t ^ 2))
             (fun t => K / 2 * t ^ 2 - (f1 t - f1 0 - f2 0 * t)));
      [intros t inside|exact slopes|ring_simplify; lra|lra].
    specialize (first t inside).
    auto_derive; [exists (f1 t); exact first|].
    rewrite (is_derive_unique (fun x : R => f x) _ _ first); field. }
  ring_simplify in done; lra.
Qed.

Lemma taylor_3 (f f1 f2 f3 : R -> R) K :
  (forall t, 0 <= t <= 1 -> is_derive f t (f1 t)) ->
  (forall t, 0 <= t <= 1 -> is_derive f1 t (f2 t)) ->
  (forall t, 0 <= t <= 1 -> is_derive f2 t (f3 t)) ->
  (forall t, 0 <= t <= 1 -> Rabs (f3 t) <= K) ->
  Rabs (f 1 - f 0 - f1 0 - f2 0 / 2) <= K / 6.
Proof.
  intros first second third bound; apply Rabs_le; split.
  - assert (- f 1 - - f 0 - - f1 0 - - f2 0 / 2 <= K / 6); [|lra].
    apply (taylor_3_upper (fun t => - f t) (fun t => - f1 t) (fun t => - f2 t) (fun t => - f3 t));
      intros t inside.
    + apply @is_derive_opp, first, inside.
    + apply @is_derive_opp, second, inside.
    + apply @is_derive_opp, third, inside.
    + pose proof (proj1 (Rabs_le_between _ _) (bound t inside)); lra.
  - apply (taylor_3_upper f f1 f2 f3); [assumption|assumption|assumption|].
    intros t inside; apply (Rabs_le_between (f3 t)), bound, inside.
Qed.
