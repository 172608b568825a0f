(** Functions of many parameters: the Cauchy-Schwarz inequality, the chain rule along a curve, and the
    gradients of log-probabilities and of entropy for any differentiable parametrization. *)

From Coq Require Import Reals Lra Lia FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Curvature.
Open Scope R_scope.

(** * Differentiable functions of d coordinates *)

(** The function f of the first d coordinates is differentiable at x, with the gradient g. *)
Definition has_gradient (d : nat) (f : vector -> R) (x g : vector) : Prop :=
  forall e, 0 < e -> exists r, 0 < r /\
  forall y, (forall i, (i < d)%nat -> Rabs (y i - x i) < r) ->
  Rabs (f y - f x - sum d (fun i => g i * (y i - x i))) <= e * sum d (fun i => Rabs (y i - x i)).
(** * Finite sums of products *)

Lemma sum_squares_nonneg n x : 0 <= sum n (fun a => x a * x a).
Proof. apply sum_nonneg; intros; apply Rle_0_sqr. Qed.

Lemma sum_squares_zero n x :
  sum n (fun a => x a * x a) = 0 -> forall a, (a < n)%nat -> x a = 0.
Proof.
  intros vanishes a inside.
  pose proof (sum_ge_term n (fun a => x a * x a) a (fun b _ => Rle_0_sqr (x b)) inside) as term.
  cbv beta in term; rewrite vanishes in term.
  apply Rsqr_0_uniq; unfold Rsqr; pose proof (Rle_0_sqr (x a)) as square; unfold Rsqr in square; lra.
Qed.

(** A form that is nonnegative on every combination x - t y obeys the Cauchy-Schwarz inequality. *)
Lemma discriminant x_x x_y y_y :
  0 <= x_x -> 0 <= y_y -> (forall t, 0 <= x_x - 2 * t * x_y + t * t * y_y) ->
  x_y * x_y <= x_x * y_y.
Proof.
  intros x_nonneg y_nonneg every.
  destruct (Rle_lt_or_eq_dec _ _ y_nonneg) as [positive|zero].
  - specialize (every (x_y / y_y)).
    apply Rmult_le_reg_r with (/ y_y); [apply Rinv_0_lt_compat, positive|].
    replace (x_x * y_y * / y_y) with x_x by (field; lra).
    replace (x_x - 2 * (x_y / y_y) * x_y + x_y / y_y * (x_y / y_y) * y_y)
      with (x_x - x_y * x_y * / y_y) in every by (field; lra).
    lra.
  - destruct (Req_dec x_y 0) as [vanishes|other]; [rewrite vanishes, <- zero; lra|].
    exfalso; specialize (every ((x_x + 1) / (2 * x_y))).
    rewrite <- zero in every.
    replace (x_x - 2 * ((x_x + 1) / (2 * x_y)) * x_y
             + (x_x + 1) / (2 * x_y) * ((x_x + 1) / (2 * x_y)) * 0) with (-1) in every
      by (field; lra).
    lra.
Qed.

Lemma cauchy_schwarz n x y :
  sum n (fun a => x a * y a) * sum n (fun a => x a * y a) <=
  sum n (fun a => x a * x a) * sum n (fun a => y a * y a).
Proof.
  apply discriminant; try apply sum_squares_nonneg.
  intros t; pose proof (sum_squares_nonneg n (fun a => x a - t * y a)) as square.
  rewrite (sum_ext n _ (fun a => x a * x a - 2 * t * (x a * y a) + t * t * (y a * y a))) in square
    by (intros; ring).
  rewrite sum_plus, sum_minus, !sum_scal in square; exact square.
Qed.

(** The same over the actions of many states. *)
Lemma cauchy_schwarz_states m n (x y : nat -> vector) :
  sum m (fun s => sum n (fun a => x s a * y s a)) * sum m (fun s => sum n (fun a => x s a * y s a)) <=
  sum m (fun s => sum n (fun a => x s a * x s a)) * sum m (fun s => sum n (fun a => y s a * y s a)).
Proof.
  assert (forall u : nat -> vector, 0 <= sum m (fun s => sum n (fun a => u s a * u s a))) as squares
    by (intros; apply sum_nonneg; intros; apply sum_squares_nonneg).
  apply discriminant; try apply squares.
  intros t; pose proof (squares (fun s a => x s a - t * y s a)) as square.
  rewrite (sum_ext m _ (fun s => sum n (fun a => x s a * x s a) - 2 * t * sum n (fun a => x s a * y s a)
                                 + t * t * sum n (fun a => y s a * y s a))) in square.
  - rewrite sum_plus, sum_minus, !sum_scal in square; exact square.
  - intros s _; rewrite <- !sum_scal, <- sum_minus, <- sum_plus; apply sum_ext; intros; ring.
Qed.

Lemma cauchy_schwarz_norms m n (x y : nat -> vector) :
  Rabs (sum m (fun s => sum n (fun a => x s a * y s a))) <=
  sqrt (sum m (fun s => sum n (fun a => x s a * x s a)))
  * sqrt (sum m (fun s => sum n (fun a => y s a * y s a))).
Proof.
  rewrite <- sqrt_mult
    by (apply sum_nonneg; intros; apply sum_squares_nonneg).
  rewrite <- sqrt_Rsqr_abs; apply sqrt_le_1_alt, cauchy_schwarz_states.
Qed.

(** * The chain rule *)

(** Over a short time h every coordinate's error is below e h. *)
Lemma coordinates_move d (curve : R -> vector) t velocity e :
  (forall i, (i < d)%nat -> derivative (fun s => curve s i) t (velocity i)) ->
  0 < e -> exists r, 0 < r /\ forall h, h <> 0 -> Rabs h < r -> forall i, (i < d)%nat ->
  Rabs (curve (t + h) i - curve t i - velocity i * h) <= e * Rabs h.
Proof.
  intros moves positive; induction d as [|k IH].
  - exists 1; split; [lra|]; intros; lia.
  - destruct IH as (r & r_positive & close); [intros; apply moves; lia|].
    destruct (moves k ltac:(lia) e positive) as (q & last).
    exists (Rmin r q); split; [apply Rmin_pos; [assumption|apply cond_pos]|].
    intros h other small i inside.
    destruct (Nat.eq_dec i k) as [->|before].
    + specialize (last h other (Rlt_le_trans _ _ _ small (Rmin_r _ _))).
      replace (curve (t + h) k - curve t k - velocity k * h)
        with (((curve (t + h) k - curve t k) / h - velocity k) * h) by (field; assumption).
      rewrite Rabs_mult; apply Rmult_le_compat_r; [apply Rabs_pos|apply Rlt_le, last].
    + apply close; [assumption|exact (Rlt_le_trans _ _ _ small (Rmin_l _ _))|lia].
Qed.

Lemma sum_abs n f : Rabs (sum n f) <= sum n (fun a => Rabs (f a)).
Proof.
  induction n as [|k IH]; simpl; [rewrite Rabs_R0; lra|].
  eapply Rle_trans; [apply Rabs_triang|]; lra.
Qed.

Lemma chain_rule d f (curve : R -> vector) t g velocity :
  has_gradient d f (curve t) g ->
  (forall i, (i < d)%nat -> derivative (fun s => curve s i) t (velocity i)) ->
  derivative (fun s => f (curve s)) t (sum d (fun i => g i * velocity i)).
Proof.
  intros differentiable moves e positive.
  set (slope := sum d (fun i => Rabs (g i))).
  set (speed := sum d (fun i => Rabs (velocity i))).
  assert (0 <= slope) as slope_nonneg by (apply sum_nonneg; intros; apply Rabs_pos).
  assert (0 <= speed) as speed_nonneg by (apply sum_nonneg; intros; apply Rabs_pos).
  pose proof (pos_INR d) as size_nonneg.
  set (near := Rmin 1 (e / (2 * (slope + 1)))).
  set (flat := e / (2 * (speed + INR d + 1))).
  assert (0 < near) by (apply Rmin_pos; [lra|apply Rdiv_lt_0_compat; lra]).
  assert (0 < flat) by (apply Rdiv_lt_0_compat; lra).
  destruct (coordinates_move d curve t velocity near moves) as (r & r_positive & close); [assumption|].
  destruct (differentiable flat) as (q & q_positive & linear); [assumption|].
  assert (0 < Rmin r (q / (speed + 1))) as short
    by (apply Rmin_pos; [assumption|apply Rdiv_lt_0_compat; lra]).
  assert (0 < Rmin (Rmin r (q / (speed + 2))) 1) as shorter.
  { repeat apply Rmin_pos; try lra; apply Rdiv_lt_0_compat; lra. }
  exists (mkposreal _ shorter); simpl; intros h other small.
  pose proof (Rmin_l (Rmin r (q / (speed + 2))) 1).
  pose proof (Rmin_l r (q / (speed + 2))); pose proof (Rmin_r r (q / (speed + 2))).
  assert (0 < Rabs h) as h_positive by (apply Rabs_pos_lt, other).
  specialize (close h other ltac:(lra)).
  assert (near <= 1) as near_1 by apply Rmin_l.
  assert (forall i, (i < d)%nat ->
    Rabs (curve (t + h) i - curve t i) <= (Rabs (velocity i) + near) * Rabs h) as displaced.
  { intros i inside.
    replace (curve (t + h) i - curve t i)
      with ((curve (t + h) i - curve t i - velocity i * h) + velocity i * h) by ring.
    eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_mult.
    specialize (close i inside); lra. }
  assert (Rabs (f (curve (t + h)) - f (curve t)
                - sum d (fun i => g i * (curve (t + h) i - curve t i)))
          <= flat * ((speed + INR d * near) * Rabs h)) as first.
  { eapply Rle_trans; [apply linear|].
    - intros i inside; eapply Rle_lt_trans; [apply displaced, inside|].
      assert (Rabs (velocity i) <= speed)
        by (apply (sum_ge_term d (fun j => Rabs (velocity j))); [intros; apply Rabs_pos|assumption]).
      apply Rle_lt_trans with ((speed + 1) * Rabs h); [apply Rmult_le_compat_r; lra|].
      assert ((speed + 2) * Rabs h < (speed + 2) * (q / (speed + 2)))
        by (apply Rmult_lt_compat_l; lra).
      replace ((speed + 2) * (q / (speed + 2))) with q in * by (field; lra); lra.
    - apply Rmult_le_compat_l; [lra|].
      apply Rle_trans with (sum d (fun i => (Rabs (velocity i) + near) * Rabs h));
        [apply sum_le, displaced|].
      rewrite sum_scal_r, sum_plus, sum_const; apply Rle_refl. }
  assert (Rabs (sum d (fun i => g i * (curve (t + h) i - curve t i))
                - sum d (fun i => g i * velocity i) * h) <= slope * (near * Rabs h)) as second.
  { rewrite <- sum_scal_r, <- sum_minus; eapply Rle_trans; [apply sum_abs|].
    unfold slope; rewrite <- sum_scal_r; apply sum_le; intros i inside.
    replace (g i * (curve (t + h) i - curve t i) - g i * velocity i * h)
      with (g i * (curve (t + h) i - curve t i - velocity i * h)) by ring.
    rewrite Rabs_mult; apply Rmult_le_compat_l; [apply Rabs_pos|apply close, inside]. }
  replace ((f (curve (t + h)) - f (curve t)) / h - sum d (fun i => g i * velocity i))
    with ((f (curve (t + h)) - f (curve t) - sum d (fun i => g i * velocity i) * h) / h)
    by (field; assumption).
  unfold Rdiv; rewrite Rabs_mult, Rabs_inv.
  apply Rmult_lt_reg_r with (Rabs h); [assumption|].
  rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
  replace (f (curve (t + h)) - f (curve t) - sum d (fun i => g i * velocity i) * h)
    with ((f (curve (t + h)) - f (curve t) - sum d (fun i => g i * (curve (t + h) i - curve t i)))
          + (sum d (fun i => g i * (curve (t + h) i - curve t i))
             - sum d (fun i => g i * velocity i) * h)) by ring.
  eapply Rle_lt_trans; [apply Rabs_triang|].
  apply Rle_lt_trans with ((flat * (speed + INR d * near) + slope * near) * Rabs h); [lra|].
  apply Rmult_lt_compat_r; [assumption|].
  assert (flat * (speed + INR d * near) < e / 2) as half_one.
  { apply Rle_lt_trans with (flat * (speed + INR d)).
    - apply Rmult_le_compat_l; [lra|].
      assert (INR d * near <= INR d * 1) by (apply Rmult_le_compat_l; lra); lra.
    - replace (e / 2) with (flat * (speed + INR d + 1)) by (unfold flat; field; lra).
      apply Rmult_lt_compat_l; lra. }
  assert (slope * near <= e / 2) as half_two.
  { apply Rle_trans with (slope * (e / (2 * (slope + 1)))).
    - apply Rmult_le_compat_l; [assumption|apply Rmin_r].
    - apply Rle_trans with ((slope + 1) * (e / (2 * (slope + 1)))).
      + apply Rmult_le_compat_r; [apply Rlt_le, Rdiv_lt_0_compat; lra|lra].
      + apply Req_le; field; lra. }
  lra.
Qed.

(** Along a straight line. *)
Lemma line_derivative d f x g u :
  has_gradient d f x g ->
  derivative (fun t => f (fun i => x i + t * u i)) 0 (sum d (fun i => g i * u i)).
Proof.
  intros differentiable.
  apply (chain_rule d f (fun t i => x i + t * u i) 0 g u).
  - replace (fun i => x i + 0 * u i) with x; [assumption|].
    apply functional_extensionality; intros; ring.
  - intros i _; apply is_derive_Reals; auto_derive; [trivial|ring].
Qed.

(** * Gradients of composed functions *)

Lemma gradient_ext d f x g g' :
  (forall i, (i < d)%nat -> g i = g' i) -> has_gradient d f x g -> has_gradient d f x g'.
Proof.
  intros same differentiable e positive.
  destruct (differentiable e positive) as (r & r_positive & linear).
  exists r; split; [assumption|]; intros y near.
  rewrite (sum_ext d (fun i => g' i * (y i - x i)) (fun i => g i * (y i - x i)))
    by (intros; rewrite same; trivial).
  apply linear, near.
Qed.

Lemma gradient_function_ext d f f' x g :
  (forall y, f y = f' y) -> has_gradient d f x g -> has_gradient d f' x g.
Proof.
  intros same differentiable e positive.
  destruct (differentiable e positive) as (r & r_positive & linear).
  exists r; split; [assumption|]; intros y near; rewrite <- !same; apply linear, near.
Qed.

Lemma gradient_sum d n (f : nat -> vector -> R) x (g : nat -> vector) :
  (forall a, (a < n)%nat -> has_gradient d (f a) x (g a)) ->
  has_gradient d (fun y => sum n (fun a => f a y)) x (fun i => sum n (fun a => g a i)).
Proof.
  induction n as [|k IH]; simpl; intros each e positive.
  - exists 1; split; [lra|]; intros y _.
    rewrite (sum_ext d _ (fun _ => 0)), sum_zero by (intros; ring).
    rewrite !Rminus_0_r, Rabs_R0; apply Rmult_le_pos; [lra|].
    apply sum_nonneg; intros; apply Rabs_pos.
  - destruct (IH (fun a inside => each a (Nat.lt_lt_succ_r _ _ inside)) (e / 2) ltac:(lra))
      as (r & r_positive & before).
    destruct (each k ltac:(lia) (e / 2) ltac:(lra)) as (q & q_positive & last).
    exists (Rmin r q); split; [apply Rmin_pos; assumption|]; intros y near.
    specialize (before y (fun i inside => Rlt_le_trans _ _ _ (near i inside) (Rmin_l _ _))).
    specialize (last y (fun i inside => Rlt_le_trans _ _ _ (near i inside) (Rmin_r _ _))).
    rewrite (sum_ext d (fun i => (sum k (fun a => g a i) + g k i) * (y i - x i))
               (fun i => sum k (fun a => g a i) * (y i - x i) + g k i * (y i - x i)))
      by (intros; ring).
    rewrite sum_plus.
    match goal with |- Rabs ?whole <= _ =>
      match type of before with Rabs ?one <= _ =>
      match type of last with Rabs ?two <= _ =>
        replace whole with (one + two) by ring end end end.
    eapply Rle_trans; [apply Rabs_triang|]; lra.
Qed.

Lemma gradient_minus d f f' x g g' :
  has_gradient d f x g -> has_gradient d f' x g' ->
  has_gradient d (fun y => f y - f' y) x (fun i => g i - g' i).
Proof.
  intros one two e positive.
  destruct (one (e / 2) ltac:(lra)) as (r & r_positive & first).
  destruct (two (e / 2) ltac:(lra)) as (q & q_positive & second).
  exists (Rmin r q); split; [apply Rmin_pos; assumption|]; intros y near.
  specialize (first y (fun i inside => Rlt_le_trans _ _ _ (near i inside) (Rmin_l _ _))).
  specialize (second y (fun i inside => Rlt_le_trans _ _ _ (near i inside) (Rmin_r _ _))).
  rewrite (sum_ext d (fun i => (g i - g' i) * (y i - x i))
             (fun i => g i * (y i - x i) - g' i * (y i - x i))) by (intros; ring).
  rewrite sum_minus.
  match goal with |- Rabs ?whole <= _ =>
    match type of first with Rabs ?a <= _ =>
    match type of second with Rabs ?b <= _ =>
      replace whole with (a - b) by ring end end end.
  eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_Ropp; lra.
Qed.

(** A differentiable function of one number, applied to a differentiable function of many. *)
Lemma gradient_compose d phi f x c g :
  derivative phi (f x) c -> has_gradient d f x g ->
  has_gradient d (fun y => phi (f y)) x (fun i => c * g i).
Proof.
  intros outer inner e positive.
  set (slope := sum d (fun i => Rabs (g i))).
  assert (0 <= slope) by (apply sum_nonneg; intros; apply Rabs_pos).
  pose proof (Rabs_pos c) as c_nonneg.
  set (e_inner := Rmin 1 (e / (2 * (Rabs c + 1)))).
  set (e_outer := e / (2 * (slope + 1))).
  assert (0 < e_inner) by (apply Rmin_pos; [lra|apply Rdiv_lt_0_compat; lra]).
  assert (e_inner <= 1) by apply Rmin_l.
  assert (0 < e_outer) by (apply Rdiv_lt_0_compat; lra).
  destruct (outer e_outer ltac:(assumption)) as (q & close).
  destruct (inner e_inner ltac:(assumption)) as (r & r_positive & linear).
  pose proof (pos_INR d).
  assert (0 < q / ((slope + 1) * (INR d + 1))) as short.
  { apply Rdiv_lt_0_compat; [apply cond_pos|apply Rmult_lt_0_compat; lra]. }
  exists (Rmin r (q / ((slope + 1) * (INR d + 1)))); split; [apply Rmin_pos; assumption|].
  intros y near.
  specialize (linear y (fun i inside => Rlt_le_trans _ _ _ (near i inside) (Rmin_l _ _))).
  set (size := sum d (fun i => Rabs (y i - x i))) in *.
  assert (0 <= size) as size_nonneg by (apply sum_nonneg; intros; apply Rabs_pos).
  set (h := f y - f x) in *.
  set (first_order := sum d (fun i => g i * (y i - x i))) in *.
  assert (Rabs first_order <= slope * size) as bounded.
  { unfold first_order; eapply Rle_trans; [apply sum_abs|].
    unfold slope; rewrite <- sum_scal_r; apply sum_le; intros i inside.
    rewrite Rabs_mult; apply Rmult_le_compat_l; [apply Rabs_pos|].
    apply (sum_ge_term d (fun j => Rabs (y j - x j))); [intros; apply Rabs_pos|assumption]. }
  assert (Rabs h <= (slope + 1) * size) as moved.
  { replace h with ((h - first_order) + first_order) by ring.
    eapply Rle_trans; [apply Rabs_triang|].
    assert (e_inner * size <= 1 * size) by (apply Rmult_le_compat_r; assumption); lra. }
  assert (Rabs h < q) as inside_q.
  { destruct (Nat.eq_dec d 0) as [none|some].
    - assert (size = 0) as nothing by (unfold size; rewrite none; reflexivity).
      rewrite nothing in moved; pose proof (cond_pos q); lra.
    - eapply Rle_lt_trans; [exact moved|].
      assert (size <= INR d * (q / ((slope + 1) * (INR d + 1)))) as size_small.
      { unfold size; rewrite <- sum_const; apply sum_le; intros i inside.
        apply Rlt_le, (Rlt_le_trans _ _ _ (near i inside)), Rmin_r. }
      apply Rle_lt_trans with ((slope + 1) * (INR d * (q / ((slope + 1) * (INR d + 1)))));
        [apply Rmult_le_compat_l; lra|].
      apply Rlt_le_trans with ((slope + 1) * ((INR d + 1) * (q / ((slope + 1) * (INR d + 1))))).
      + apply Rmult_lt_compat_l; [lra|apply Rmult_lt_compat_r; lra].
      + apply Req_le; field; split; lra. }
  assert (Rabs (phi (f y) - phi (f x) - c * h) <= e_outer * Rabs h) as outside.
  { destruct (Req_dec h 0) as [zero|other].
    - replace (f y) with (f x) by (unfold h in zero; lra).
      rewrite zero, Rmult_0_r, Rabs_R0, Rminus_0_r, Rminus_diag_eq, Rabs_R0 by reflexivity; lra.
    - specialize (close h other inside_q).
      replace (f x + h) with (f y) in close by (unfold h; ring).
      replace (phi (f y) - phi (f x) - c * h) with (((phi (f y) - phi (f x)) / h - c) * h)
        by (field; assumption).
      rewrite Rabs_mult; apply Rmult_le_compat_r; [apply Rabs_pos|apply Rlt_le, close]. }
  rewrite (sum_ext d _ (fun i => c * (g i * (y i - x i)))), sum_scal by (intros; ring).
  fold first_order.
  replace (phi (f y) - phi (f x) - c * first_order)
    with ((phi (f y) - phi (f x) - c * h) + c * (h - first_order)) by ring.
  eapply Rle_trans; [apply Rabs_triang|]; rewrite Rabs_mult.
  assert (e_outer * Rabs h <= e / 2 * size).
  { apply Rle_trans with (e_outer * ((slope + 1) * size));
      [apply Rmult_le_compat_l; lra|apply Req_le; unfold e_outer; field; lra]. }
  assert (Rabs c * Rabs (h - first_order) <= e / 2 * size).
  { apply Rle_trans with ((Rabs c + 1) * (e / (2 * (Rabs c + 1)) * size)).
    - apply Rmult_le_compat; try apply Rabs_pos; [lra|].
      eapply Rle_trans; [exact linear|]; apply Rmult_le_compat_r; [assumption|apply Rmin_r].
    - apply Req_le; field; lra. }
  lra.
Qed.

(** * Entropy for any differentiable parametrization *)

Section Parametrized.

Variables (d n : nat) (z : vector -> vector) (theta : vector) (score : nat -> vector).
Hypothesis some : (0 < n)%nat.
Hypothesis differentiable : forall a, (a < n)%nat ->
  has_gradient d (fun x => log_softmax n (z x) a) theta (score a).

Lemma gradient_softmax a :
  (a < n)%nat ->
  has_gradient d (fun x => softmax n (z x) a) theta (fun i => softmax n (z theta) a * score a i).
Proof.
  intros inside.
  apply gradient_function_ext with (f := fun x => exp (log_softmax n (z x) a)).
  { intros; unfold log_softmax; apply exp_ln, softmax_pos, some. }
  apply gradient_compose; [|apply differentiable, inside].
  replace (softmax n (z theta) a) with (exp (log_softmax n (z theta) a))
    by (unfold log_softmax; apply exp_ln, softmax_pos, some).
  apply is_derive_Reals, is_derive_exp.
Qed.

(** Scores have mean zero: probabilities always add up to one. *)
Lemma mean_score i :
  (i < d)%nat -> mean n (softmax n (z theta)) (fun a => score a i) = 0.
Proof.
  intros inside.
  assert (has_gradient d (fun x => sum n (fun a => softmax n (z x) a)) theta
            (fun j => sum n (fun a => softmax n (z theta) a * score a j))) as differentiated
    by (apply gradient_sum, gradient_softmax).
  pose proof (line_derivative d _ theta _ (fun j => if Nat.eqb j i then 1 else 0) differentiated)
    as along.
  assert (derivative (fun t => sum n (fun a =>
      softmax n (z (fun j => theta j + t * (if Nat.eqb j i then 1 else 0))) a)) 0 0) as constant.
  { apply is_derive_Reals, is_derive_ext with (f := fun _ => 1).
    - intros; symmetry; apply softmax_sum, some.
    - apply @is_derive_const. }
  pose proof (uniqueness_limite _ _ _ _ along constant) as zero.
  rewrite (sum_single d i) in zero by assumption; exact zero.
Qed.

(** The gradient of entropy is minus the covariance of log pi with the scores. *)
Lemma gradient_entropy :
  has_gradient d (fun x => entropy n (z x)) theta
    (fun i => - covariance n (softmax n (z theta)) (log_softmax n (z theta)) (fun a => score a i)).
Proof.
  apply gradient_function_ext with
    (f := fun x => sum n (fun a => - (exp (log_softmax n (z x) a) * log_softmax n (z x) a))).
  { intros x; unfold entropy; rewrite <- sum_opp; apply sum_ext; intros a _; unfold log_softmax.
    rewrite exp_ln by (apply softmax_pos, some); reflexivity. }
  apply gradient_ext with
    (g := fun i => sum n (fun a =>
            - (softmax n (z theta) a * (log_softmax n (z theta) a + 1)) * score a i)).
  - intros i inside.
    rewrite covariance_sym, covariance_centered_l by (apply softmax_sum, some).
    unfold centered, mean; rewrite <- sum_opp.
    pose proof (mean_score i inside) as centered_already; unfold mean in centered_already.
    rewrite centered_already.
    transitivity (sum n (fun a => - (softmax n (z theta) a * score a i)
      + - (softmax n (z theta) a * ((score a i - 0) * log_softmax n (z theta) a)))).
    + apply sum_ext; intros; ring.
    + rewrite sum_plus, sum_opp, centered_already; ring.
  - apply (gradient_sum d n (fun a x => - (exp (log_softmax n (z x) a) * log_softmax n (z x) a))
             theta (fun a i => - (softmax n (z theta) a * (log_softmax n (z theta) a + 1)) * score a i)).
    intros a inside.
    apply (gradient_compose d (fun l => - (exp l * l))); [|apply differentiable, inside].
    apply is_derive_Reals; auto_derive; [trivial|].
    replace (softmax n (z theta) a) with (exp (log_softmax n (z theta) a))
      by (unfold log_softmax; apply exp_ln, softmax_pos, some).
    ring.
Qed.

End Parametrized.

(** The gradient of log pi, from those of the logits. *)
Lemma gradient_log_softmax d n (z : vector -> vector) theta (jacobian : nat -> vector) :
  (0 < n)%nat ->
  (forall a, (a < n)%nat -> has_gradient d (fun x => z x a) theta (jacobian a)) ->
  forall a, (a < n)%nat -> has_gradient d (fun x => log_softmax n (z x) a) theta
    (fun i => centered n (softmax n (z theta)) (fun b => jacobian b i) a).
Proof.
  intros some differentiable a inside.
  pose proof (normalizer_pos n (z theta) some) as positive.
  apply gradient_function_ext with (f := fun x => z x a - ln (sum n (fun b => exp (z x b)))).
  { intros; symmetry; apply log_softmax_eq, some. }
  apply gradient_ext with (g := fun i => jacobian a i
    - / sum n (fun b => exp (z theta b)) * sum n (fun b => exp (z theta b) * jacobian b i)).
  { intros i _; unfold centered, mean, softmax; f_equal.
    rewrite <- sum_scal; apply sum_ext; intros; field; lra. }
  apply gradient_minus; [apply differentiable, inside|].
  apply (gradient_compose d ln); [apply is_derive_Reals, is_derive_ln, positive|].
  apply (gradient_sum d n (fun b x => exp (z x b)) theta (fun b i => exp (z theta b) * jacobian b i)).
  intros b b_inside; apply (gradient_compose d exp);
    [apply is_derive_Reals, is_derive_exp|apply differentiable, b_inside].
Qed.

(** * Covariance is linear *)

Lemma covariance_sum_r n p f d (g : nat -> vector) (u : vector) :
  covariance n p f (fun a => sum d (fun i => g a i * u i))
  = sum d (fun i => covariance n p f (fun a => g a i) * u i).
Proof.
  induction d as [|k IH]; simpl.
  - transitivity (covariance n p f (fun _ => 0 * 0)).
    + apply covariance_ext; intros; ring.
    + rewrite (covariance_scal_r n p 0 f (fun _ => 0)); ring.
  - rewrite covariance_plus_r, IH, (Rmult_comm _ (u k)), <- covariance_scal_r; f_equal.
    apply covariance_ext; intros; ring.
Qed.
