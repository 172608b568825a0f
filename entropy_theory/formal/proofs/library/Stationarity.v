(** Suboptimality against the norm of the policy gradient on token trees: AEnt, Proposition 1 (II).

    Along a response the advantages telescope to its return minus the value of the prompt, every prefix
    is at least as likely as the response, and Cauchy-Schwarz over its h tokens gives sqrt(h). A state's
    block of the gradient adds up to zero, so that one entry has at most (n - 1)/n of the block's
    squares. *)

From Coq Require Import Reals Lra Lia Psatz List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities GradientBlock Trees TreeValues TreeLargest
  TreeGradientBounds.
Import ListNotations.
Open Scope R_scope.

(** * Sums along a response *)

Lemma sum_along_le n h : forall f g y,
  (forall s a, state_of n h s -> (a < n)%nat -> f s a <= g s a) ->
  (length y <= h)%nat -> tokens_below n y -> sum_along f y <= sum_along g y.
Proof.
  induction h as [|k IH]; intros f g [|a rest] less_or_equal short below_n; simpl in *; try lra; [lia|].
  inversion below_n; subst; apply Rplus_le_compat.
  - apply less_or_equal; [apply state_of_nil|assumption].
  - apply IH; [|lia|assumption].
    intros s b state inside; apply less_or_equal; [apply state_of_cons|]; assumption.
Qed.

Lemma sum_along_abs f : forall y, Rabs (sum_along f y) <= sum_along (fun s a => Rabs (f s a)) y.
Proof.
  intros y; revert f; induction y as [|a rest IH]; intros f; simpl; [rewrite Rabs_R0; lra|].
  eapply Rle_trans; [apply Rabs_triang|].
  apply Rplus_le_compat_l; apply (IH (after a f)).
Qed.

Lemma sum_along_square f : forall y,
  Rsqr (sum_along f y) <= INR (length y) * sum_along (fun s a => Rsqr (f s a)) y.
Proof.
  intros y; revert f; induction y as [|a rest IH]; intros f.
  - unfold Rsqr; simpl; lra.
  - specialize (IH (after a f)); cbn [sum_along].
    change (after a (fun s b => Rsqr (f s b))) with (fun s b => Rsqr (after a f s b)).
    destruct rest as [|b more]; [unfold Rsqr; simpl; nra|].
    set (rest := b :: more) in *.
    change (length (a :: rest)) with (S (length rest)); rewrite S_INR.
    assert (0 < INR (length rest)) as positive by (apply lt_0_INR; simpl; lia).
    set (total := sum_along (after a f) rest) in *.
    set (squares := sum_along (fun s b => Rsqr (after a f s b)) rest) in *.
    set (x := f [] a); set (k := INR (length rest)) in *.
    assert (0 <= k * (x * x) + squares - 2 * x * total) as middle.
    { apply (Rmult_le_reg_l k); [assumption|].
      pose proof (Rle_0_sqr (k * x - total)) as square; unfold Rsqr in *; nra. }
    unfold Rsqr in *; nra.
Qed.

(** Numbers >= 0 of the states: along a response they add up to at most their sum over all states. *)
Lemma sum_along_le_states n h : forall (f : state -> R) y,
  (forall s, state_of n h s -> 0 <= f s) -> response_of n h y ->
  sum_along (fun s _ => f s) y <= sum_states n h f.
Proof.
  induction h as [|k IH]; intros f [|a rest] nonneg [long below_n]; try discriminate.
  - unfold sum_states; simpl; lra.
  - inversion below_n; subst; rewrite sum_states_first; cbn [sum_along].
    apply Rplus_le_compat_l.
    apply Rle_trans with (sum_states n k (after a f)).
    + apply (IH (after a f) rest); [|split; [simpl in long; lia|assumption]].
      intros s state; apply nonneg, state_of_cons; assumption.
    + apply (sum_ge_term n (fun b => sum_states n k (after b f))); [|assumption].
      intros b inside; apply sum_states_nonneg; intros s state.
      apply nonneg, state_of_cons; assumption.
Qed.

Lemma probability_le_1 n z s : (0 < n)%nat -> tokens_below n s -> probability n z s <= 1.
Proof.
  intros some; revert z; induction s as [|a rest IH]; intros z below_n; simpl; [lra|].
  inversion below_n; subst.
  pose proof (softmax_le_1 n (z []) a ltac:(assumption)).
  pose proof (softmax_pos n (z []) a some); pose proof (probability_pos n (after a z) rest some).
  specialize (IH (after a z) ltac:(assumption)); nra.
Qed.

(** Every prefix of a response is at least as likely as the response. *)
Lemma probability_along n : forall y z (f : state -> vector),
  (0 < n)%nat -> tokens_below n y -> (forall s a, 0 <= f s a) ->
  probability n z y * sum_along f y
  <= sum_along (fun s a => probability n z s * softmax n (z s) a * f s a) y.
Proof.
  induction y as [|a rest IH]; intros z f some below_n nonneg; [simpl; lra|].
  cbn [sum_along probability]; inversion below_n; subst.
  set (p := softmax n (z []) a).
  assert (0 < p) by apply softmax_pos, some.
  pose proof (probability_pos n (after a z) rest some).
  pose proof (probability_le_1 n (after a z) rest some ltac:(assumption)).
  specialize (IH (after a z) (after a f) some ltac:(assumption) (fun s b => nonneg (a :: s) b)).
  set (later := (fun s b =>
    probability n (after a z) s * softmax n (after a z s) b * after a f s b) : state -> vector) in IH.
  assert (sum_along (after a (fun s b => probability n z s * softmax n (z s) b * f s b)) rest
          = p * sum_along later rest) as scaled.
  { rewrite <- sum_along_scal; apply (sum_along_ext n (length rest)); [|lia|assumption].
    intros s b _ _; unfold later, p, after; simpl; unfold after; ring. }
  eapply Rle_trans; [|apply Rplus_le_compat_l, Req_le; symmetry; exact scaled].
  specialize (nonneg [] a); fold p.
  assert (p * (probability n (after a z) rest * f [] a) <= p * f [] a).
  { apply Rmult_le_compat_l; [lra|]; nra. }
  apply (Rmult_le_compat_l p) in IH; [|lra].
  lra.
Qed.

(** * The bound *)

Section Response.

Variables (n h : nat) (z : policy) (reward : state -> R).
Hypothesis some : (0 < n)%nat.
Hypothesis long : (0 < h)%nat.

Let gradient := gradient_of_value n h z reward.

Definition block_squares (s : state) : R := sum n (fun a => Rsqr (gradient s a)).

Lemma block_squares_nonneg s : 0 <= block_squares s.
Proof. apply sum_nonneg; intros; apply Rle_0_sqr. Qed.

Lemma gradient_block_sum s : (length s < h)%nat -> sum n (gradient s) = 0.
Proof.
  intros short; rewrite (sum_ext n _ (fun a => probability n z s
    * (softmax n (z s) a * advantage_at n h z (edge_reward h reward) s a)))
    by (intros; unfold gradient, gradient_of_value; ring).
  rewrite sum_scal; fold (mean n (softmax n (z s)) (advantage_at n h z (edge_reward h reward) s)).
  rewrite mean_advantage by assumption; ring.
Qed.

(** An entry of numbers that add up to zero: n g_a^2 <= (n - 1) (g_1^2 + ... + g_n^2). *)
Lemma entry_of_balanced f a :
  (a < n)%nat -> sum n f = 0 -> INR n * Rsqr (f a) <= (INR n - 1) * sum n (fun b => Rsqr (f b)).
Proof.
  intros inside zero.
  pose (others := fun b => if Nat.eqb b a then 0 else f b).
  pose (one := fun b => if Nat.eqb b a then 0 else 1).
  assert (forall g, sum n (fun b => if Nat.eqb b a then 0 else g b) = sum n g - g a) as without.
  { intros g; transitivity (sum n (fun b => g b - (if Nat.eqb b a then g a else 0))).
    - apply sum_ext; intros b _; destruct (Nat.eqb_spec b a) as [->|]; ring.
    - rewrite sum_minus; f_equal; clear zero others one.
      induction n as [|k IH]; [lia|]; cbn [sum].
      destruct (Nat.eq_dec a k) as [->|other].
      + rewrite Nat.eqb_refl, (sum_ext k _ (fun _ => 0)), sum_zero; [ring|].
        intros b b_inside; rewrite (proj2 (Nat.eqb_neq b k)) by lia; reflexivity.
      + rewrite IH by lia; rewrite (proj2 (Nat.eqb_neq k a)) by lia; ring. }
  pose proof (cauchy_schwarz n one others) as bound.
  rewrite (sum_ext n (fun b => one b * others b) (fun b => if Nat.eqb b a then 0 else f b)) in bound
    by (intros b _; unfold one, others; destruct (Nat.eqb b a); ring).
  rewrite (sum_ext n (fun b => Rsqr (one b)) (fun b => if Nat.eqb b a then 0 else 1)) in bound
    by (intros b _; unfold one, Rsqr; destruct (Nat.eqb b a); ring).
  rewrite (sum_ext n (fun b => Rsqr (others b)) (fun b => if Nat.eqb b a then 0 else Rsqr (f b)))
    in bound by (intros b _; unfold others, Rsqr; destruct (Nat.eqb b a); ring).
  rewrite (without f), (without (fun _ => 1)), (without (fun b => Rsqr (f b))) in bound.
  rewrite zero, sum_const in bound; unfold Rsqr in *; nra.
Qed.

(** (pi(y) (R(y) - V))^2 <= h ((n - 1)/n) ||grad V||^2, for every response y. *)
Theorem gap_le_gradient_sharp y :
  response_of n h y ->
  INR n * Rsqr (probability n z y * (reward y - mean_responses n h z reward))
  <= INR h * (INR n - 1) * sum_states n h block_squares.
Proof.
  intros response; pose proof response as [length_y below_n].
  pose proof (lt_0_INR n some) as n_pos; pose proof (pos_INR h) as h_nonneg.
  set (e := edge_reward h reward).
  assert (probability n z y * Rabs (reward y - mean_responses n h z reward)
          <= sum_along (fun s a => Rabs (gradient s a)) y) as path.
  { rewrite <- (value_edge_reward n h z reward some long).
    replace (reward y) with (sum_along e y)
      by (unfold e; rewrite <- length_y; apply sum_along_edge_reward; lia).
    fold e; rewrite <- (sum_along_advantage n y h z e length_y).
    eapply Rle_trans; [apply Rmult_le_compat_l; [apply Rlt_le, probability_pos, some|
      apply sum_along_abs]|].
    eapply Rle_trans; [apply probability_along; try assumption; intros; apply Rabs_pos|].
    apply Req_le, (sum_along_ext n h); [|lia|assumption].
    intros s a _ inside.
    assert (0 < probability n z s) by apply probability_pos, some.
    assert (0 < softmax n (z s) a) by apply softmax_pos, some.
    unfold gradient, gradient_of_value, e; rewrite !Rabs_mult.
    rewrite (Rabs_pos_eq (probability n z s)), (Rabs_pos_eq (softmax n (z s) a)) by lra.
    ring. }
  assert (Rsqr (probability n z y * (reward y - mean_responses n h z reward))
          <= INR h * sum_along (fun s a => Rsqr (gradient s a)) y) as squares.
  { apply Rle_trans with (Rsqr (sum_along (fun s a => Rabs (gradient s a)) y)).
    - apply Rsqr_le_abs_1; rewrite Rabs_mult, (Rabs_pos_eq (probability n z y))
        by (apply Rlt_le, probability_pos, some).
      eapply Rle_trans; [exact path|apply Rle_abs].
    - eapply Rle_trans; [apply sum_along_square|]; rewrite length_y.
      apply Rmult_le_compat_l; [assumption|].
      apply Req_le, (sum_along_ext n h); [|lia|assumption].
      intros; symmetry; apply Rsqr_abs. }
  assert (INR n * sum_along (fun s a => Rsqr (gradient s a)) y
          <= (INR n - 1) * sum_states n h block_squares) as blocks.
  { rewrite <- sum_along_scal.
    apply Rle_trans with (sum_along (fun s _ => (INR n - 1) * block_squares s) y).
    - apply (sum_along_le n h); [|lia|assumption].
      intros s a [short _] inside; apply entry_of_balanced, gradient_block_sum; assumption.
    - rewrite (sum_along_scal (INR n - 1) (fun s _ => block_squares s)).
      apply Rmult_le_compat_l.
      + assert (1 <= INR n) by (apply (le_INR 1); lia); lra.
      + apply sum_along_le_states; [intros; apply block_squares_nonneg|assumption]. }
  nra.
Qed.

Theorem gap_le_gradient y :
  response_of n h y ->
  Rsqr (probability n z y * (reward y - mean_responses n h z reward))
  <= INR h * sum_states n h block_squares.
Proof.
  intros response; pose proof (gap_le_gradient_sharp y response) as sharp.
  pose proof (lt_0_INR n some) as n_pos; pose proof (pos_INR h) as h_nonneg.
  assert (0 <= sum_states n h block_squares)
    by (apply sum_states_nonneg; intros; apply block_squares_nonneg).
  apply (Rmult_le_reg_l (INR n)); [assumption|].
  assert (0 <= INR h * sum_states n h block_squares) by (apply Rmult_le_pos; assumption).
  lra.
Qed.

End Response.

(** * Data sets: V(D) is the mean over prompts, and so is its gradient *)

Section DataSet.

Variables (n h prompts : nat) (z : nat -> policy) (reward : nat -> state -> R).
Hypothesis some : (0 < n)%nat.
Hypothesis long : (0 < h)%nat.

(** ||grad V(D)||_2^2. *)
Definition data_gradient_squares : R :=
  sum prompts (fun q => sum_states n h (fun s => sum n (fun a =>
    Rsqr (gradient_of_value n h (z q) (reward q) s a / INR prompts)))).

Lemma data_gradient_squares_nonneg : 0 <= data_gradient_squares.
Proof.
  apply sum_nonneg; intros; apply sum_states_nonneg; intros; apply sum_nonneg; intros.
  apply Rle_0_sqr.
Qed.

Lemma prompt_squares_le q :
  (q < prompts)%nat ->
  sum_states n h (block_squares n h (z q) (reward q)) <= Rsqr (INR prompts) * data_gradient_squares.
Proof.
  intros inside; assert (0 < INR prompts) as many by (apply lt_0_INR; lia).
  unfold data_gradient_squares; rewrite <- sum_scal.
  eapply Rle_trans; [|apply (sum_ge_term prompts (fun k => Rsqr (INR prompts)
    * sum_states n h (fun s => sum n (fun a =>
        Rsqr (gradient_of_value n h (z k) (reward k) s a / INR prompts)))) q); [|exact inside]].
  - rewrite <- sum_states_scal; apply Req_le, sum_states_ext; intros s _.
    unfold block_squares; rewrite <- sum_scal; apply sum_ext; intros a _.
    unfold Rsqr; field; lra.
  - intros k _; apply Rmult_le_pos; [apply Rle_0_sqr|].
    apply sum_states_nonneg; intros; apply sum_nonneg; intros; apply Rle_0_sqr.
Qed.

(** |D|^2 h ||grad V(D)||^2 >= (pi(y) (R(y) - V))^2, and with (n - 1)/n on the left. *)
Theorem data_gap_le_gradient q y :
  (q < prompts)%nat -> response_of n h y ->
  Rsqr (probability n (z q) y * (reward q y - mean_responses n h (z q) (reward q)))
  <= Rsqr (INR prompts) * INR h * data_gradient_squares.
Proof.
  intros inside response.
  eapply Rle_trans; [apply (gap_le_gradient n h (z q) (reward q) some long y response)|].
  pose proof (prompt_squares_le q inside); pose proof (pos_INR h).
  replace (Rsqr (INR prompts) * INR h * data_gradient_squares)
    with (INR h * (Rsqr (INR prompts) * data_gradient_squares)) by ring.
  apply Rmult_le_compat_l; assumption.
Qed.

Theorem data_gap_le_gradient_sharp q y :
  (q < prompts)%nat -> response_of n h y ->
  INR n * Rsqr (probability n (z q) y * (reward q y - mean_responses n h (z q) (reward q)))
  <= Rsqr (INR prompts) * INR h * (INR n - 1) * data_gradient_squares.
Proof.
  intros inside response.
  eapply Rle_trans; [apply (gap_le_gradient_sharp n h (z q) (reward q) some long y response)|].
  pose proof (prompt_squares_le q inside); pose proof (pos_INR h).
  assert (1 <= INR n) by (apply (le_INR 1); lia).
  replace (Rsqr (INR prompts) * INR h * (INR n - 1) * data_gradient_squares)
    with (INR h * (INR n - 1) * (Rsqr (INR prompts) * data_gradient_squares)) by ring.
  apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|assumption].
Qed.

End DataSet.

(** C gap, C the probability of the likeliest right response, is the probability of a right one times what it is
    ahead of V; or C is zero. *)
Lemma at_right_response n h z reward :
  (0 < n)%nat ->
  let best := largest_responses n h reward in
  let likeliest := largest_responses n h (fun y => if equal (reward y) best then probability n z y else 0) in
  exists y, response_of n h y /\
    (likeliest * mean_responses n h z (fun x => best - reward x)
     = probability n z y * (reward y - mean_responses n h z reward)
     \/ likeliest = 0).
Proof.
  intros some best likeliest; unfold likeliest.
  destruct (largest_responses_attained n h (fun y =>
    if equal (reward y) best then probability n z y else 0)) as (y & response & ->); [exact some|].
  exists y; split; [exact response|].
  unfold equal; destruct (Req_EM_T (reward y) best) as [is_best|_]; [left|right; reflexivity].
  rewrite (mean_responses_minus n h z (fun _ => best)), mean_responses_const, is_best by exact some.
  reflexivity.
Qed.
