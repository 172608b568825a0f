(** Extension of Entropy Mechanism, Lemma 1: with one likely action, where the noise of the policy's own samples does not
    lower entropy, rare draws raise it by at least as much as likely ones. *)

From Coq Require Import Reals Lra Lia Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Curvature OneRight OwnCovariance Noise NoiseShapes OneLikely.
From Trusted.Statements.extension Require sampler_noise.
Open Scope R_scope.

(** * One drawn action *)

(** The quadratic form along the score of an action of probability t, whose logit is l above the mean. *)
Definition drawn (P Q D m t l : R) : R :=
  let s := P * P + m * (Q * Q) in
  - (P * ((1 + m * Q * D) * ((s - t - P) * (s - t - P))) + m * (Q * ((1 - P * D) * ((s - t - Q) * (s - t - Q))))
     + t * ((1 + l) * (1 + 2 * (s - t - t)))).
Definition likely_drawn (D m : R) : R :=
  drawn (likely D m) (rare D m) D m (likely D m) (m * rare D m * D).
Definition rare_drawn (D m : R) : R :=
  drawn (likely D m) (rare D m) D m (rare D m) (- (likely D m * D)).

Section Signs.

Variables m D : R.
Hypothesis m_least : 1 <= m.
Hypothesis ahead : 0 < D.

Let e := exp (- D).
Let N := 1 + m * e.
Let H := (1 - m * e) * D - N.
Let G := (1 - e) * D * (m + 3 - m * (m - 1) * e) - N * (m + 3 + 2 * (m - 1) * e + m * (m - 1) * (e * e)).
Let F := G - e * ((m + 1) * (m + 1)) * H.

Lemma N_pos : 0 < N.
Proof. exact (below_pos D m ltac:(lra)). Qed.

Lemma own_signed :
  likely D m * likely_drawn D m + m * rare D m * rare_drawn D m = m * (e * e) * / N ^ 5 * G.
Proof.
  pose proof N_pos as positive; unfold likely_drawn, rare_drawn, drawn, likely, rare, G; fold e; fold N.
  unfold N in *; field; lra.
Qed.

Lemma draws_apart : rare_drawn D m - likely_drawn D m = e * / N ^ 4 * F.
Proof.
  pose proof N_pos as positive; unfold likely_drawn, rare_drawn, drawn, likely, rare, F, G, H; fold e; fold N.
  unfold N in *; field; lra.
Qed.

Theorem rare_draws_raise_more :
  0 <= likely D m * likely_drawn D m + m * rare D m * rare_drawn D m -> likely_drawn D m <= rare_drawn D m.
Proof.
  rewrite own_signed; intros rises; pose proof N_pos as positive; assert (0 < e) as e_pos by apply exp_pos.
  assert (0 <= G) as up.
  { apply Rmult_le_reg_l with (m * (e * e) * / N ^ 5); [|lra].
    apply Rmult_lt_0_compat; [|apply Rinv_0_lt_compat, pow_lt, positive].
    apply Rmult_lt_0_compat; [lra|apply Rmult_lt_0_compat; assumption]. }
  assert (0 <= F) as apart.
  { assert (0 <= e * ((m + 1) * (m + 1))) by (repeat apply Rmult_le_pos; lra).
    destruct (Rle_or_lt H 0) as [low|high].
    - assert (0 <= e * ((m + 1) * (m + 1)) * - H) by (apply Rmult_le_pos; lra); unfold F; lra.
    - assert (0 < 1 - m * e) as few by (apply Rmult_lt_reg_r with D; [assumption|unfold H in high; lra]).
      set (c := m * m * (m + 3) * (e * e) - 2 * (m * m + m + 2) * e + (m + 3)).
      assert (0 <= c) as convex.
      { apply Rmult_le_reg_l with (m * m * (m + 3)); [repeat apply Rmult_lt_0_compat; lra|].
        replace (m * m * (m + 3) * c)
          with (Rsqr (m * m * (m + 3) * e - (m * m + m + 2)) + (2 * m - 2) * (2 * (m * m) + 4 * m + 2))
          by (unfold c, Rsqr; ring).
        pose proof (Rle_0_sqr (m * m * (m + 3) * e - (m * m + m + 2))).
        assert (0 <= m * m) by (apply Rmult_le_pos; lra).
        assert (0 <= (2 * m - 2) * (2 * (m * m) + 4 * m + 2)) by (apply Rmult_le_pos; lra); lra. }
      apply Rmult_le_reg_r with (1 - m * e); [assumption|].
      replace (F * (1 - m * e)) with (c * H + N * ((m - 1) * e * (N * N))) by (unfold F, G, H, N, c; ring).
      assert (0 <= c * H) by (apply Rmult_le_pos; lra).
      assert (0 <= N * ((m - 1) * e * (N * N))) by (repeat apply Rmult_le_pos; lra); lra. }
  enough (0 <= e * / N ^ 4 * F) by (rewrite <- draws_apart in *; lra).
  apply Rmult_le_pos; [|assumption]; apply Rmult_le_pos; [lra|].
  apply Rlt_le, Rinv_0_lt_compat, pow_lt, positive.
Qed.

End Signs.

(** * The policy *)

Section OneAction.

Variables (n : nat) (A : mask) (r : nat) (D : R).
Hypothesis two : (2 <= n)%nat.
Hypothesis inside : (r < n)%nat.
Hypothesis chosen : A r = true.
Hypothesis alone : forall a, (a < n)%nat -> a <> r -> A a = false.

Let some : (0 < n)%nat := Nat.lt_le_trans 0 2 n Nat.lt_0_2 two.
Let m := INR n - 1.
Let z : vector := fun a => if A a then D else 0.
Let p := softmax n z.
Let P := likely D m.
Let Q := rare D m.

Lemma form_of_score k : (k < n)%nat ->
  quadratic_form n z (fun a => delta a k - p a) = if A k then likely_drawn D m else rare_drawn D m.
Proof.
  intros k_inside; pose proof (policy_is n A D two r inside chosen alone) as values.
  assert (forall a, p a = two_valued A P Q a) as is_p by exact values.
  set (s := P * P + m * (Q * Q)).
  assert (mean n p p = s) as square by exact (mean_two n A D two r inside chosen alone P Q p (fun a _ => values a)).
  assert (mean n p z = P * D) as average.
  { transitivity (P * D + m * (Q * 0)); [|ring].
    exact (mean_two n A D two r inside chosen alone D 0 z (fun _ _ => eq_refl)). }
  assert (mean n p (fun a => delta a k - p a) = p k - s) as middle.
  { rewrite mean_minus, square; f_equal; unfold mean.
    rewrite (sum_ext n _ (fun a => delta k a * p a)) by (intros; unfold delta; rewrite Nat.eqb_sym; ring).
    apply sum_delta, k_inside. }
  set (u := fun a => (1 + centered n p z a) * ((s - p k - p a) * (s - p k - p a))).
  assert (forall a, u a = two_valued A ((1 + m * Q * D) * ((s - p k - P) * (s - p k - P)))
                                       ((1 - P * D) * ((s - p k - Q) * (s - p k - Q))) a) as u_is.
  { intros a; unfold u, centered; rewrite average, (is_p a); unfold z, two_valued.
    destruct (A a); [|ring].
    replace (1 + (D - P * D)) with (1 + m * Q * D); [reflexivity|].
    pose proof (P_is n D two) as fills; fold m in fills; fold P Q in fills; rewrite fills; ring. }
  rewrite quadratic_form_depth by exact some; fold p.
  rewrite (mean_ext n p _ (fun a => u a + delta k a * ((1 + centered n p z a) * (1 + 2 * (s - p k - p a))))).
  2: { intros a _; unfold u; change (centered n p (fun b => delta b k - p b) a)
         with (delta a k - p a - mean n p (fun b => delta b k - p b)); rewrite middle.
       unfold delta; rewrite (Nat.eqb_sym k a); destruct (Nat.eqb a k); ring. }
  rewrite mean_plus.
  replace (mean n p u) with (P * ((1 + m * Q * D) * ((s - p k - P) * (s - p k - P)))
                             + m * (Q * ((1 - P * D) * ((s - p k - Q) * (s - p k - Q))))).
  2: { symmetry; exact (mean_two n A D two r inside chosen alone _ _ u (fun a _ => u_is a)). }
  replace (mean n p (fun a => delta k a * ((1 + centered n p z a) * (1 + 2 * (s - p k - p a)))))
    with (p k * ((1 + centered n p z k) * (1 + 2 * (s - p k - p k)))).
  2: { unfold mean; rewrite <- (sum_delta n k (fun a => p a * ((1 + centered n p z a) * (1 + 2 * (s - p k - p a)))))
         by exact k_inside; apply sum_ext; intros; ring. }
  unfold centered at 1; rewrite average, (is_p k); unfold two_valued, z, likely_drawn, rare_drawn, drawn.
  fold P Q; fold s; destruct (A k); [|f_equal; ring].
  replace (D - P * D) with (m * Q * D); [reflexivity|].
  pose proof (P_is n D two) as fills; fold m in fills; fold P Q in fills; rewrite fills; ring.
Qed.

Lemma effect_is sampler :
  let mu := softmax n sampler in
  Statements.extension.sampler_noise.sampler_effect n z sampler
  = (mu r * likely_drawn D m + (1 - mu r) * rare_drawn D m) / 2.
Proof.
  intros mu; assert (sum n mu = 1) as one by apply softmax_sum, some.
  pose proof (form_of_noise n z mu (fun a k => delta a k - p a) some) as form.
  transitivity (mean n mu (fun k => quadratic_form n z (fun a => delta a k - p a)) / 2);
    [unfold Rdiv; rewrite form; reflexivity|f_equal].
  unfold mean; rewrite (sum_apart n A r inside chosen alone), form_of_score by exact inside; rewrite chosen.
  pose proof (sum_apart n A r inside chosen alone mu) as whole; rewrite one in whole.
  replace (1 - mu r) with (total_on n (fun a => negb (A a)) mu) by lra.
  f_equal; unfold total_on; rewrite <- sum_scal_r; apply sum_ext; intros a a_inside; unfold only.
  rewrite form_of_score by exact a_inside; destruct (A a); simpl; ring.
Qed.

End OneAction.

Theorem proved : Statements.extension.sampler_noise.statement.
Proof.
  intros n A shift D two some ahead few.
  destruct (one_of_count n A some few) as (r & inside & chosen & alone).
  change (Statements.extension.sampler_noise.dominated n D A) with (fun a => if A a then D else 0).
  set (z := fun a => if A a then D else 0); set (mu := softmax n (fun a => z a + shift a)).
  pose proof (effect_is n A r D two inside chosen alone z) as own.
  pose proof (effect_is n A r D two inside chosen alone (fun a => z a + shift a)) as theirs.
  pose proof (policy_is n A D two r inside chosen alone r) as first; unfold two_valued in first; rewrite chosen in first.
  cbv zeta in own, theirs; fold z in own, theirs, first; fold mu in theirs; rewrite first in own.
  set (m := INR n - 1) in *.
  assert (1 <= m) as least by (unfold m; pose proof (le_INR 2 n two) as large; simpl in large; lra).
  pose proof (likely_is D m ltac:(lra)) as fills.
  pose proof (rare_draws_raise_more m D least ahead) as more.
  replace (1 - likely D m) with (m * rare D m) in own by lra.
  match goal with |- 0 <= (if less ?x _ then _ else _) => destruct (less x 0) eqn:falls end; [lra|].
  apply less_false in falls.
  assert (total_on n A (fun a => mu a - softmax n z a) = mu r - likely D m) as excess.
  { rewrite <- first; unfold total_on; rewrite <- (sum_single n r (fun a => mu a - softmax n z a) inside).
    apply sum_ext; intros a a_inside; unfold only; destruct (Nat.eqb_spec a r) as [->|other].
    - rewrite chosen; ring.
    - rewrite (alone a a_inside other); ring. }
  rewrite excess, own, theirs in *; specialize (more ltac:(lra)).
  replace (((likely D m * likely_drawn D m + m * rare D m * rare_drawn D m) / 2
            - (mu r * likely_drawn D m + (1 - mu r) * rare_drawn D m) / 2) * (mu r - likely D m))
    with ((mu r - likely D m) * (mu r - likely D m) * (rare_drawn D m - likely_drawn D m) / 2)
    by (replace (m * rare D m) with (1 - likely D m) by lra; field).
  assert (0 <= (mu r - likely D m) * (mu r - likely D m)) by apply Rle_0_sqr.
  assert (0 <= (mu r - likely D m) * (mu r - likely D m) * (rare_drawn D m - likely_drawn D m))
    by (apply Rmult_le_pos; lra); lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.sampler_noise.witness.
Proof. exists 2%nat, (fun a => Nat.eqb a 0), (fun _ => 0), 1; witnessed. Qed.
