(** Entropy along a straight line of logits: its first three derivatives.

    With u = d - E d and l = log pi + H, both under the policy at time t,

        H' = -Cov(log pi, d),    H'' = -Var(d) - Cov(log pi, u^2),
        H''' = -2 E u^3 - E[l u^3] + 3 E[l u] E[u^2]. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Open Scope R_scope.

(** Logits on the line from z in direction d. *)
Definition line (z d : vector) (t : R) : vector := fun a => z a + t * d a.

(** The second derivative of entropy along d. *)
Definition quadratic_form (n : nat) (z d : vector) : R :=
  let p := softmax n z in
  - mean n p (fun a => centered n p d a * centered n p d a)
  - covariance n p z (fun a => centered n p d a * centered n p d a).

(** * Moments *)

Lemma mean_scal_r n p c f : mean n p (fun a => f a * c) = mean n p f * c.
Proof. unfold mean; rewrite <- sum_scal_r; apply sum_ext; intros; ring. Qed.

Lemma centered_shift n p c f a :
  sum n p = 1 -> centered n p (fun b => f b + c) a = centered n p f a.
Proof. intros one; unfold centered; rewrite mean_plus, mean_const by assumption; ring. Qed.

Lemma centered_log_softmax n z p a :
  (0 < n)%nat -> (a < n)%nat -> sum n p = 1 ->
  centered n p (log_softmax n z) a = centered n p z a.
Proof.
  intros some inside one.
  rewrite <- (centered_shift n p (- ln (sum n (fun b => exp (z b)))) z a one).
  unfold centered; rewrite log_softmax_eq by assumption.
  rewrite (mean_ext n p (log_softmax n z) (fun b => z b + - ln (sum n (fun b => exp (z b)))));
    [ring|intros; rewrite log_softmax_eq by assumption; ring].
Qed.

Lemma covariance_centered_r n p f g :
  sum n p = 1 -> covariance n p f g = mean n p (fun a => f a * centered n p g a).
Proof.
  intros one; rewrite covariance_sym, covariance_centered_l by assumption.
  apply mean_ext; intros; ring.
Qed.

Lemma covariance_scal_r n p c f g :
  covariance n p f (fun a => c * g a) = c * covariance n p f g.
Proof. rewrite covariance_sym, covariance_scal_l, covariance_sym; reflexivity. Qed.

Lemma covariance_const_r n p c f : sum n p = 1 -> covariance n p f (fun _ => c) = 0.
Proof. intros one; rewrite covariance_eq, mean_scal_r, mean_const by assumption; ring. Qed.

Lemma covariance_plus_r n p f g h :
  covariance n p f (fun a => g a + h a) = covariance n p f g + covariance n p f h.
Proof.
  unfold covariance; rewrite <- mean_plus; apply mean_ext; intros; unfold centered.
  rewrite mean_plus; ring.
Qed.

Lemma covariance_plus_l n p f g h :
  covariance n p (fun a => g a + h a) f = covariance n p g f + covariance n p h f.
Proof. rewrite covariance_sym, covariance_plus_r, !(covariance_sym n p f); reflexivity. Qed.

Lemma covariance_minus_r n p f g h :
  covariance n p f (fun a => g a - h a) = covariance n p f g - covariance n p f h.
Proof.
  rewrite (covariance_ext n p f (fun a => g a - h a) f (fun a => g a + -1 * h a)) by (intros; ring).
  rewrite covariance_plus_r, covariance_scal_r; ring.
Qed.

Lemma variance_of_centered n p f :
  covariance n p f f = mean n p (fun a => centered n p f a * centered n p f a).
Proof. reflexivity. Qed.

(** The curvature with log pi in place of the logits. *)
Lemma quadratic_form_log n z d :
  (0 < n)%nat ->
  let p := softmax n z in
  quadratic_form n z d
  = - covariance n p d d
    - covariance n p (log_softmax n z) (fun a => centered n p d a * centered n p d a).
Proof.
  intros some p; unfold quadratic_form; fold p.
  rewrite covariance_log_softmax by (try apply softmax_sum; assumption); reflexivity.
Qed.

(** ... and as one expectation, -E[(1 + log pi + H) u^2]. *)
Lemma quadratic_form_mean n z d :
  (0 < n)%nat ->
  let p := softmax n z in
  quadratic_form n z d
  = - mean n p (fun a => (1 + log_softmax n z a + entropy n z) * (centered n p d a * centered n p d a)).
Proof.
  intros some p.
  assert (sum n p = 1) as one by (apply softmax_sum, some).
  rewrite quadratic_form_log by assumption; fold p.
  rewrite variance_of_centered, (covariance_centered_l n p (log_softmax n z)) by assumption.
  rewrite <- mean_opp, <- mean_minus, <- mean_opp; apply mean_ext; intros a inside.
  assert (centered n p (log_softmax n z) a = log_softmax n z a + entropy n z) as depth.
  { unfold centered; rewrite entropy_log; fold p; ring. }
  rewrite depth; ring.
Qed.

(** * Derivatives *)

Lemma is_derive_line z d t a : is_derive (fun s => line z d s a) t (d a).
Proof. unfold line; auto_derive; [trivial|ring]. Qed.

Lemma line_start z d a : line z d 0 a = z a.
Proof. unfold line; ring. Qed.

Lemma line_end z d a : line z d 1 a = z a + d a.
Proof. unfold line; ring. Qed.

Section Line.

Variables (n : nat) (z d : vector).
Hypothesis some : (0 < n)%nat.

Let p (t : R) := softmax n (line z d t).
Let u (t : R) := centered n (p t) d.
Let moves t : forall a, (a < n)%nat -> is_derive (fun s => line z d s a) t (d a).
Proof. intros a _; apply is_derive_line. Qed.
Let one t : sum n (p t) = 1.
Proof. apply softmax_sum, some. Qed.

(** The product rule for a covariance: the third joint cumulant, and the change of each function. *)
Lemma is_derive_covariance t (f g : R -> vector) (f' g' : vector) :
  (forall a, (a < n)%nat -> is_derive (fun s => f s a) t (f' a)) ->
  (forall a, (a < n)%nat -> is_derive (fun s => g s a) t (g' a)) ->
  is_derive (fun s => covariance n (p s) (f s) (g s)) t
    (mean n (p t) (fun a => u t a * centered n (p t) (f t) a * centered n (p t) (g t) a)
     + covariance n (p t) f' (g t) + covariance n (p t) (f t) g').
Proof.
  intros f_moves g_moves.
  apply is_derive_ext with
    (f := fun s => mean n (p s) (fun a => f s a * g s a) - mean n (p s) (f s) * mean n (p s) (g s)).
  { intros s; symmetry; apply covariance_eq, one. }
  evar_last.
  - apply @is_derive_minus.
    + apply (is_derive_mean n (line z d) d t some (moves t) (fun s a => f s a * g s a)
               (fun a => f' a * g t a + f t a * g' a)).
      intros a inside; evar_last.
      * apply @is_derive_mult;
          [apply f_moves, inside|apply g_moves, inside|intros; apply Rmult_comm].
      * reflexivity.
    + apply @is_derive_mult;
        [apply (is_derive_mean n (line z d) d t some (moves t) f f' f_moves)
        |apply (is_derive_mean n (line z d) d t some (moves t) g g' g_moves)
        |intros; apply Rmult_comm].
  - unfold minus, plus, opp, mult; simpl; fold (p t).
    rewrite (covariance_centered_l n (p t) d (fun a => f t a * g t a)) by apply one.
    rewrite (covariance_centered_l n (p t) d (f t)) by apply one.
    rewrite (covariance_centered_l n (p t) d (g t)) by apply one.
    rewrite (covariance_eq n (p t) f'), (covariance_eq n (p t) (f t)) by apply one.
    fold (u t); rewrite mean_plus.
    assert (mean n (p t) (u t) = 0) as zero by apply mean_centered, one.
    unfold centered.
    rewrite (mean_ext n (p t)
               (fun a => u t a * (f t a - mean n (p t) (f t)) * (g t a - mean n (p t) (g t)))
               (fun a => u t a * (f t a * g t a) - mean n (p t) (g t) * (u t a * f t a)
                         - mean n (p t) (f t) * (u t a * g t a)
                         + mean n (p t) (f t) * mean n (p t) (g t) * u t a)) by (intros; ring).
    rewrite mean_plus, !mean_minus, !mean_scal, zero; ring.
Qed.

Lemma is_derive_centered t a :
  (a < n)%nat -> is_derive (fun s => u s a) t (- covariance n (p t) d d).
Proof.
  intros inside; unfold u, centered; evar_last.
  - apply @is_derive_minus; [apply @is_derive_const|].
    apply (is_derive_mean n (line z d) d t some (moves t) (fun _ => d) (fun _ => 0)).
    intros; apply @is_derive_const.
  - unfold minus, plus, opp, zero; simpl; fold (p t); rewrite mean_const by apply one; ring.
Qed.

Lemma is_derive_square_centered t a :
  (a < n)%nat ->
  is_derive (fun s => u s a * u s a) t (- 2 * covariance n (p t) d d * u t a).
Proof.
  intros inside; evar_last.
  - apply @is_derive_mult;
      [apply is_derive_centered, inside|apply is_derive_centered, inside|intros; apply Rmult_comm].
  - unfold plus, mult; simpl; ring.
Qed.

(** H' = -Cov(log pi, d). *)
Lemma is_derive_entropy_along_line t :
  is_derive (fun s => entropy n (line z d s)) t
    (- covariance n (p t) (log_softmax n (line z d t)) d).
Proof. apply (is_derive_entropy n (line z d) d t some (moves t)). Qed.

(** H'' is the quadratic form at the policy of that time. *)
Lemma is_derive_slope_line t :
  is_derive (fun s => - covariance n (p s) (log_softmax n (line z d s)) d) t
    (quadratic_form n (line z d t) d).
Proof.
  evar_last.
  - apply @is_derive_opp, (is_derive_covariance t (fun s => log_softmax n (line z d s)) (fun _ => d)
                             (u t) (fun _ => 0)).
    + intros a inside; apply (is_derive_log_softmax n (line z d) d t some (moves t)), inside.
    + intros; apply @is_derive_const.
  - rewrite quadratic_form_log by assumption; fold (p t).
    rewrite covariance_const_r by apply one.
    rewrite (covariance_centered_l n (p t) (u t) d), (covariance_centered_l n (p t) (log_softmax n (line z d t)))
      by apply one.
    unfold opp; simpl.
    assert (mean n (p t) (fun a => centered n (p t) (u t) a * d a) = covariance n (p t) d d) as variance.
    { rewrite (covariance_centered_l n (p t) d) by apply one.
      apply mean_ext; intros a inside; fold (u t); unfold centered at 1.
      unfold u at 2; rewrite mean_centered by apply one; fold (u t); ring. }
    rewrite variance; fold (u t).
    rewrite (mean_ext n (p t) (fun a => u t a * centered n (p t) (log_softmax n (line z d t)) a * u t a)
               (fun a => centered n (p t) (log_softmax n (line z d t)) a * (u t a * u t a)))
      by (intros; ring).
    ring.
Qed.

(** H''' = -2 E u^3 - E[l u^3] + 3 E[l u] E[u^2], with l = log pi + H. *)
Definition third_derivative (t : R) : R :=
  let l := fun a => log_softmax n (line z d t) a + entropy n (line z d t) in
  - 2 * mean n (p t) (fun a => u t a * u t a * u t a)
  - mean n (p t) (fun a => l a * (u t a * u t a * u t a))
  + 3 * mean n (p t) (fun a => l a * u t a) * covariance n (p t) d d.

Lemma is_derive_curvature_line t :
  is_derive (fun s => quadratic_form n (line z d s) d) t (third_derivative t).
Proof.
  apply is_derive_ext with
    (f := fun s => - covariance n (p s) d d
                   - covariance n (p s) (log_softmax n (line z d s)) (fun a => u s a * u s a)).
  { intros s; rewrite quadratic_form_log by assumption; reflexivity. }
  evar_last.
  - apply @is_derive_minus; [apply @is_derive_opp|].
    + apply (is_derive_covariance t (fun _ => d) (fun _ => d) (fun _ => 0) (fun _ => 0));
        intros; apply @is_derive_const.
    + apply (is_derive_covariance t (fun s => log_softmax n (line z d s)) (fun s a => u s a * u s a)
               (u t) (fun a => - 2 * covariance n (p t) d d * u t a)).
      * intros a inside; apply (is_derive_log_softmax n (line z d) d t some (moves t)), inside.
      * intros a inside; apply is_derive_square_centered, inside.
  - unfold minus, plus, opp; simpl.
    set (L := log_softmax n (line z d t)).
    rewrite (covariance_sym n (p t) (fun _ => 0) d), covariance_const_r by apply one.
    assert (mean n (p t) (u t) = 0) as no_drift by apply mean_centered, one.
    assert (covariance n (p t) d d = mean n (p t) (fun a => u t a * u t a)) as variance by reflexivity.
    rewrite (covariance_scal_r n (p t)).
    rewrite (covariance_centered_l n (p t) (u t)) by apply one.
    rewrite (mean_ext n (p t) (fun a => centered n (p t) (u t) a * (u t a * u t a))
               (fun a => u t a * u t a * u t a))
      by (intros; unfold centered; rewrite no_drift; ring).
    rewrite (covariance_centered_l n (p t) L) by apply one.
    assert (forall a, centered n (p t) L a = L a + entropy n (line z d t)) as depth.
    { intros a; unfold centered, L; rewrite (entropy_log n (line z d t)); fold (p t); ring. }
    unfold third_derivative; fold L; fold (u t).
    set (H := entropy n (line z d t)) in *.
    rewrite (mean_ext n (p t) (fun a => centered n (p t) L a * u t a) (fun a => (L a + H) * u t a))
      by (intros; rewrite depth; reflexivity).
    rewrite (mean_ext n (p t)
               (fun a => u t a * centered n (p t) L a * centered n (p t) (fun b => u t b * u t b) a)
               (fun a => (L a + H) * (u t a * u t a * u t a)
                         - mean n (p t) (fun b => u t b * u t b) * ((L a + H) * u t a)))
      by (intros; rewrite depth; unfold centered; ring).
    rewrite mean_minus, mean_scal, variance; ring.
Qed.

End Line.
