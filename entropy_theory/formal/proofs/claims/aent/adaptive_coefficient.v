(** AEnt, Section 4.2, Eq. 4.1, as repaired: the adaptive coefficient as a damped oscillator.

    Logits z = x r, r the returns 0 and 1, x' = g(x) u with u = 1 - lambda x: g = 1 for the natural and
    g = n p (1 - p)/(m (n - m)) for the vanilla gradient ([speed_of_vanilla_gradient]). The coefficient follows
    lambda' = beta f(H), f(H) = (low - H)_+ - (H - high)_+, and is held at the ends of its box. If
    low <= h(lambda_max) and h(lambda_min) <= high, h(lambda) the entropy of softmax(r/lambda), then

        E = u^2/2 + beta int f(H(x)) x/g dx  has  dE/dt <= -lambda g u^2 <= 0,

    also while the box holds lambda ([energy_falls]). [proved] is the inequality behind it at the ends
    of the box. *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Inequalities.
From Trusted.Statements.aent Require Import adaptive_coefficient.
Open Scope R_scope.

Definition returns (correct : mask) : vector := fun a => if correct a then 1 else 0.
(** The logits x r, and their entropy. *)
Definition line (correct : mask) (x : R) : vector := fun a => x * returns correct a.
Definition sharpened_entropy (n : nat) (correct : mask) (x : R) : R := entropy n (line correct x).
Definition force (low high H : R) : R := Rmax (low - H) 0 - Rmax (H - high) 0.
Definition right_share (n : nat) (correct : mask) (x : R) : R :=
  total_on n correct (softmax n (line correct x)).
(** g of the vanilla gradient. *)
Definition vanilla (n : nat) (correct : mask) (x : R) : R :=
  INR n * right_share n correct x * (1 - right_share n correct x)
  / (count_on n correct * (INR n - count_on n correct)).

(** * Entropy along the line, and the speed of the vanilla gradient *)

Section Line.

Variables (n : nat) (correct : mask).
Hypothesis some : (0 < n)%nat.

Notation H := (sharpened_entropy n correct).

Lemma line_moves t a : is_derive (fun s => line correct s a) t (returns correct a).
Proof. unfold line; auto_derive; [trivial|ring]. Qed.

(** dH/dx = -x Var(r). *)
Lemma is_derive_sharpened_entropy x :
  is_derive H x (- (x * covariance n (softmax n (line correct x)) (returns correct) (returns correct))).
Proof.
  evar_last.
  - apply (is_derive_entropy n (line correct) (returns correct) x some).
    intros a _; apply line_moves.
  - simpl; rewrite covariance_log_softmax by (assumption || apply softmax_sum, some).
    rewrite <- covariance_scal_l; reflexivity.
Qed.

Lemma sharpened_entropy_falls x y : 0 <= x -> x <= y -> H y <= H x.
Proof.
  intros nonneg ordered; enough (- H x <= - H y) by lra.
  apply (nondecreasing_of_derivative (fun s => - H s) (fun s =>
    s * covariance n (softmax n (line correct s)) (returns correct) (returns correct))); [assumption| |].
  - intros s _; evar_last; [apply @is_derive_opp, is_derive_sharpened_entropy|].
    unfold opp; simpl; ring.
  - intros s inside; apply Rmult_le_pos; [lra|].
    apply variance_nonneg; intros; apply Rlt_le, softmax_pos, some.
Qed.

Lemma force_pos low high E : low < high -> 0 < force low high E -> E < low.
Proof. unfold force, Rmax; intros; destruct (Rle_dec (low - E) 0), (Rle_dec (E - high) 0); lra. Qed.

Lemma force_neg low high E : low < high -> force low high E < 0 -> high < E.
Proof. unfold force, Rmax; intros; destruct (Rle_dec (low - E) 0), (Rle_dec (E - high) 0); lra. Qed.

(** Held at the upper end by a positive force, u is negative; held at the lower end by a negative force,
    it is positive. *)
Lemma held_above low high most x :
  low < high -> 0 < most -> 0 < x -> low <= H (1 / most) -> 0 < force low high (H x) -> 1 - most * x < 0.
Proof.
  intros band most_pos x_pos fits pull; apply force_pos in pull; [|assumption].
  destruct (Rlt_or_le (1 / most) x) as [above|below].
  - apply (Rmult_lt_compat_l most) in above; [|assumption].
    replace (most * (1 / most)) with 1 in above by (field; lra); lra.
  - pose proof (sharpened_entropy_falls x (1 / most) ltac:(lra) below); lra.
Qed.

Lemma held_below low high least x :
  low < high -> 0 < least -> 0 < x -> H (1 / least) <= high -> force low high (H x) < 0 ->
  0 < 1 - least * x.
Proof.
  intros band least_pos x_pos fits pull; apply force_neg in pull; [|assumption].
  destruct (Rlt_or_le x (1 / least)) as [below|above].
  - apply (Rmult_lt_compat_l least) in below; [|assumption].
    replace (least * (1 / least)) with 1 in below by (field; lra); lra.
  - assert (0 < 1 / least) by (apply Rdiv_lt_0_compat; lra).
    pose proof (sharpened_entropy_falls (1 / least) x ltac:(lra) above); lra.
Qed.

Lemma right_share_eq x :
  right_share n correct x
  = count_on n correct * exp x / sum n (fun b => exp (line correct x b)).
Proof.
  unfold right_share, count_on, total_on; unfold Rdiv; rewrite <- !sum_scal_r.
  apply sum_ext; intros a _; unfold only, softmax, line, returns.
  destruct (correct a); [rewrite Rmult_1_r|]; unfold Rdiv; ring.
Qed.

Lemma count_split : INR n = count_on n correct + count_on n (complement correct).
Proof.
  unfold count_on; rewrite <- total_on_split, sum_const; ring.
Qed.

Lemma wrong_share_eq x :
  1 - right_share n correct x
  = count_on n (complement correct) / sum n (fun b => exp (line correct x b)).
Proof.
  assert (total_on n (complement correct) (softmax n (line correct x))
          = count_on n (complement correct) / sum n (fun b => exp (line correct x b))) as wrong.
  { unfold count_on, total_on; unfold Rdiv; rewrite <- sum_scal_r.
    apply sum_ext; intros a _; unfold only, complement, softmax, line, returns.
    destruct (correct a); simpl; [|rewrite Rmult_0_r, exp_0]; unfold Rdiv; ring. }
  rewrite <- wrong; pose proof (total_on_split n correct (softmax n (line correct x))) as split.
  rewrite softmax_sum in split by exact some; unfold right_share; lra.
Qed.

Hypothesis some_right : nonempty n correct.
Hypothesis some_wrong : nonempty n (complement correct).

Lemma count_pos A : nonempty n A -> 0 < count_on n A.
Proof.
  intros [a [inside here]]; apply Rlt_le_trans with 1; [lra|].
  apply (total_on_ge_term n A (fun _ => 1) a); [intros; lra|assumption|assumption].
Qed.

Lemma vanilla_pos x : 0 < vanilla n correct x.
Proof.
  pose proof (count_pos _ some_right); pose proof (count_pos _ some_wrong).
  pose proof (normalizer_pos n (line correct x) some) as Z; pose proof count_split.
  unfold vanilla; rewrite wrong_share_eq, right_share_eq.
  apply Rdiv_lt_0_compat; [|apply Rmult_lt_0_compat; lra].
  pose proof (exp_pos x).
  apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [lra|]|];
    (apply Rdiv_lt_0_compat; [|assumption]); [apply Rmult_lt_0_compat|]; assumption.
Qed.

(** The vanilla gradient of E r + lambda H moves the logit of a right action away from that of a wrong
    one at the speed g(x) (1 - lambda x). *)
Lemma speed_of_vanilla_gradient lambda x a b :
  (a < n)%nat -> (b < n)%nat -> correct a = true -> correct b = false ->
  let p := softmax n (line correct x) in
  let zeta := fun c => returns correct c - lambda * log_softmax n (line correct x) c in
  p a * centered n p zeta a - p b * centered n p zeta b = vanilla n correct x * (1 - lambda * x).
Proof.
  intros a_inside b_inside right wrong; cbv zeta.
  set (p := softmax n (line correct x)); set (Z := sum n (fun c => exp (line correct x c))).
  assert (0 < Z) as Z_pos by apply normalizer_pos, some.
  set (zeta := fun c => returns correct c - lambda * log_softmax n (line correct x) c).
  assert (forall c, (c < n)%nat ->
    zeta c = (1 - lambda * x) * returns correct c + lambda * ln Z) as zeta_eq.
  { intros c _; unfold zeta; rewrite log_softmax_eq by exact some; fold Z; unfold line; ring. }
  assert (mean n p zeta = (1 - lambda * x) * right_share n correct x + lambda * ln Z) as mean_zeta.
  { rewrite (mean_ext _ _ _ _ zeta_eq), mean_plus, mean_scal, mean_const by (apply softmax_sum, some).
    f_equal; f_equal; apply sum_ext; intros c _; unfold returns, only; fold p.
    destruct (correct c); ring. }
  unfold centered; rewrite mean_zeta, !zeta_eq by assumption; unfold returns; rewrite right, wrong.
  unfold vanilla; rewrite wrong_share_eq, right_share_eq; fold Z.
  pose proof count_split as split; pose proof (count_pos _ some_right); pose proof (count_pos _ some_wrong).
  unfold p, softmax; fold Z; unfold line, returns; rewrite right, wrong, Rmult_0_r, Rmult_1_r, exp_0.
  rewrite split; set (m := count_on n correct) in *; set (w := count_on n (complement correct)) in *.
  assert (Z = m * exp x + w) as Z_eq.
  { pose proof (wrong_share_eq x) as rest; rewrite right_share_eq in rest; fold Z m w in rest.
    apply (Rmult_eq_compat_r Z) in rest; unfold Rdiv in rest.
    rewrite Rmult_minus_distr_r, !Rmult_assoc, Rinv_l in rest by lra; lra. }
  pose proof (exp_pos x); set (E := exp x) in *; set (L := ln Z); clearbody Z L; subst Z.
  field; repeat split; nra.
Qed.

End Line.

(** * The energy along a solution *)

(** At a time when x and lambda have derivatives and lambda is free or held by its box, the energy has
    a derivative, at most -lambda g u^2. [potential] is the integral of f(H(y)) y/g(y). *)
Theorem energy_falls :
  forall (n : nat) (correct : mask) (low high least most gain : R) (g potential x lambda : R -> R)
         (t s : R),
    (1 <= n)%nat -> 0 < least -> 0 < gain -> low < high -> least <= most ->
    low <= sharpened_entropy n correct (1 / most) ->
    sharpened_entropy n correct (1 / least) <= high ->
    (forall y, 0 < y -> 0 < g y) ->
    (forall y, 0 < y ->
       derivative potential y (force low high (sharpened_entropy n correct y) * y / g y)) ->
    let u r := 1 - lambda r * x r in
    let pull := force low high (sharpened_entropy n correct (x t)) in
    0 < x t -> least <= lambda t <= most ->
    derivative x t (g (x t) * u t) ->
    derivative lambda t s ->
    s = gain * pull \/ (s = 0 /\ (lambda t = most /\ 0 <= pull \/ lambda t = least /\ pull <= 0)) ->
    exists slope,
      derivative (fun r => u r * u r / 2 + gain * potential (x r)) t slope /\
      slope <= - (lambda t * g (x t) * (u t * u t)).
Proof.
  intros n correct low high least most gain g potential x lambda t s some least_pos gain_pos band box
    fits_above fits_below g_pos slope_of_potential u pull x_pos inside x_moves lambda_moves which.
  apply is_derive_Reals in x_moves; apply is_derive_Reals in lambda_moves.
  specialize (slope_of_potential (x t) x_pos); apply is_derive_Reals in slope_of_potential.
  fold pull in slope_of_potential; specialize (g_pos (x t) x_pos).
  exists (u t * - (s * x t + lambda t * (g (x t) * u t)) + gain * (pull * x t * u t)); split.
  - apply is_derive_Reals.
    assert (is_derive u t (- (s * x t + lambda t * (g (x t) * u t)))) as u_moves.
    { unfold u at 1; evar_last.
      - apply @is_derive_minus; [apply @is_derive_const|].
        apply @is_derive_mult; [exact lambda_moves|exact x_moves|intros; apply Rmult_comm].
      - unfold minus, plus, opp, zero, mult; simpl; ring. }
    apply @is_derive_plus with (f := fun r => u r * u r / 2) (g := fun r => gain * potential (x r)).
    + evar_last.
      * apply (is_derive_comp (fun y => y * y / 2) u t (u t)); [auto_derive; [trivial|field]|].
        exact u_moves.
      * unfold scal; simpl; unfold mult; simpl; ring.
    + evar_last.
      * apply (is_derive_scal (fun r => potential (x r))).
        apply (is_derive_comp potential x t); [exact slope_of_potential|exact x_moves].
      * unfold scal; simpl; unfold mult; simpl; field; lra.
  - destruct which as [->|[-> held]].
    + right; ring.
    + enough (gain * (pull * x t * u t) <= 0) by lra.
      enough (0 <= - (pull * u t)).
      { assert (0 <= gain * x t * - (pull * u t)) by (repeat apply Rmult_le_pos; lra); lra. }
      destruct held as [[at_end pull_nonneg]|[at_end pull_nonpos]].
      * destruct pull_nonneg as [positive|<-]; [|lra].
        assert (u t < 0); [|nra].
        unfold u; rewrite at_end.
        apply (held_above n correct some low high most (x t)); lra || assumption.
      * destruct pull_nonpos as [negative|none]; [|rewrite none; lra].
        assert (0 < u t); [|nra].
        unfold u; rewrite at_end.
        apply (held_below n correct some low high least (x t)); lra || assumption.
Qed.

(** * The inequality at the ends of the box *)

Theorem ends_of_the_box :
  forall (n : nat) (correct : mask) (low high least most gain x g : R),
    (1 <= n)%nat -> 0 < least -> 0 < gain -> 0 < x -> low < high -> least <= most ->
    low <= sharpened_entropy n correct (1 / most) ->
    sharpened_entropy n correct (1 / least) <= high ->
    0 < g ->
    let pull := force low high (sharpened_entropy n correct x) in
    gain * Rmax pull 0 * x * (1 - most * x) <= most * g * ((1 - most * x) * (1 - most * x)) /\
    gain * Rmin pull 0 * x * (1 - least * x) <= least * g * ((1 - least * x) * (1 - least * x)).
Proof.
  intros n correct low high least most gain x g some least_pos gain_pos x_pos
    band box fits_above fits_below g_pos pull.
  split.
  - set (u := 1 - most * x).
    assert (0 <= most * g * (u * u)).
    { apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply Rle_0_sqr]. }
    destruct (Rle_or_lt pull 0) as [none|positive].
    + rewrite Rmax_right by assumption; lra.
    + rewrite Rmax_left by lra.
      assert (u < 0) by (apply (held_above n correct some low high most x); lra || assumption).
      assert (0 <= gain * pull * x * - u)
        by (repeat apply Rmult_le_pos; lra).
      lra.
  - set (u := 1 - least * x).
    assert (0 <= least * g * (u * u)).
    { apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply Rle_0_sqr]. }
    destruct (Rle_or_lt 0 pull) as [none|negative].
    + rewrite Rmin_right by assumption; lra.
    + rewrite Rmin_left by lra.
      assert (0 < u) by (apply (held_below n correct some low high least x); lra || assumption).
      assert (0 <= gain * - pull * x * u)
        by (repeat apply Rmult_le_pos; lra).
      lra.
Qed.

Theorem proved : Statements.aent.adaptive_coefficient.repair.
Proof.
  intros n correct low high least most gain x several right low_pos high_pos least_pos most_pos gain_pos
    x_pos band box some_wrong above below.
  assert (0 < n)%nat as some by lia.
  assert (nonempty n (complement correct)) as wrong.
  { apply some_on_spec; destruct (some_on n (complement correct)) eqn:none; [reflexivity|].
    destruct some_wrong; intros a inside; pose proof (some_on_empty n _ none a inside) as here.
    unfold complement in here; destruct (correct a); [reflexivity|discriminate]. }
  change (Statements.aent.adaptive_coefficient.sharpened_entropy) with sharpened_entropy in *.
  change (Statements.aent.adaptive_coefficient.force)
    with (fun entropy low high => force low high entropy); cbv beta.
  assert (vanilla_speed n correct x = vanilla n correct x) as g_eq.
  { unfold vanilla_speed, vanilla.
    replace (sum n (fun a => if correct a then 1 else 0)) with (count_on n correct); [reflexivity|].
    apply sum_ext; intros a _; unfold only; destruct (correct a); reflexivity. }
  pose proof (vanilla_pos n correct some right wrong x) as g_pos.
  pose proof (ends_of_the_box n correct low high least most gain x 1 ltac:(lia) least_pos gain_pos x_pos
    band ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)) as [natural_above natural_below].
  pose proof (ends_of_the_box n correct low high least most gain x (vanilla n correct x) ltac:(lia)
    least_pos gain_pos x_pos band ltac:(lra) ltac:(lra) ltac:(lra) g_pos) as [vanilla_above vanilla_below].
  rewrite g_eq; repeat split; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Lemma two_answers_above_zero z : 0 < entropy 2 z.
Proof.
  pose proof (softmax_sum 2 z ltac:(lia)) as whole.
  assert (forall a, 0 < softmax 2 z a) as positive by (intros; apply softmax_pos; lia).
  assert (forall p, 0 < p < 1 -> 0 < - (p * ln p)) as term.
  { intros p inside; assert (ln p < 0) by (rewrite <- ln_1; apply ln_increasing; lra); nra. }
  unfold entropy; simpl in *.
  pose proof (positive 0%nat); pose proof (positive 1%nat).
  pose proof (term (softmax 2 z 0%nat) ltac:(lra)); pose proof (term (softmax 2 z 1%nat) ltac:(lra)); lra.
Qed.

Theorem witness : Statements.aent.adaptive_coefficient.witness.
Proof.
  pose (H := Statements.aent.adaptive_coefficient.sharpened_entropy 2 (fun a => Nat.eqb a 1)).
  assert (forall x, 0 < H x) as above by (intros; apply two_answers_above_zero).
  exists 2%nat, (fun a => Nat.eqb a 1), (H (1 / 2) / 2), (H (1 / 2) + H (1 / 1) + 1), 1, 2, 1, 1.
  fold H; pose proof (above (1 / 1)); pose proof (above (1 / 2)).
  do 11 (split; [first [lra | witnessed]|]); lra.
Qed.

Theorem defined : Statements.aent.adaptive_coefficient.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aent Require adaptive_coefficient.
From Trusted.Conditions.aent Require adaptive_coefficient.

Lemma entropy_of_one z : entropy 1 z = 0.
Proof.
  unfold entropy, softmax; simpl.
  replace (exp (z 0%nat) / (0 + exp (z 0%nat))) with 1 by (field; pose proof (exp_pos (z 0%nat)); lra).
  rewrite ln_1; ring.
Qed.

Theorem speed_of_vanilla_gradient_witness : Conditions.aent.adaptive_coefficient.speed_of_vanilla_gradient_witness.
Proof. exists 2%nat, (fun a => Nat.eqb a 1); repeat (split; [met|]); exists 1%nat, 0%nat; met. Qed.

Theorem speed_of_vanilla_gradient_defined : Conditions.aent.adaptive_coefficient.speed_of_vanilla_gradient_defined.
Proof.
  intros n correct _ right wrong x a b _ _ _ _; red.
  pose proof (count_on_pos n _ right); pose proof (count_on_pos n _ wrong).
  rewrite <- (count_on_complement n correct); intros zero.
  destruct (Rmult_integral _ _ zero); lra.
Qed.

Theorem energy_falls_witness : Conditions.aent.adaptive_coefficient.energy_falls_witness.
Proof.
  exists 1%nat, (fun _ => true), (-1), 1, 1, 1, 1, (fun _ => 1), (fun _ => 0), (fun _ => 1), (fun _ => 1), 0, 0.
  assert (forall y, Theorems.aent.adaptive_coefficient.force (-1) 1
            (Theorems.aent.adaptive_coefficient.sharpened_entropy 1 (fun _ => true) y) = 0) as inside.
  { intros y; unfold Theorems.aent.adaptive_coefficient.sharpened_entropy; rewrite entropy_of_one.
    unfold Theorems.aent.adaptive_coefficient.force; rewrite !Rmax_right by lra; ring. }
  cbv zeta; rewrite inside; unfold Theorems.aent.adaptive_coefficient.sharpened_entropy; rewrite !entropy_of_one.
  repeat (split; [first [lia|lra|intros; lra|idtac]|]).
  - intros y _; unfold Theorems.aent.adaptive_coefficient.sharpened_entropy in inside; rewrite inside.
    replace (0 * y / 1) with 0 by field; apply derivable_pt_lim_const.
  - replace (1 * (1 - 1 * 1)) with 0 by ring; apply derivable_pt_lim_const.
  - apply derivable_pt_lim_const.
  - left; ring.
Qed.

Theorem energy_falls_defined : Conditions.aent.adaptive_coefficient.energy_falls_defined.
Proof.
  intros n correct low high least most gain g _ least_pos _ _ order.
  split; [lra|]; intros _; split; [lra|]; intros _ positive y y_pos.
  apply not_eq_sym, Rlt_not_eq, positive, y_pos.
Qed.
