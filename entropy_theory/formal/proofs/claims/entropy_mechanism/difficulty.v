(** Entropy Mechanism, Figure 8 (right): "easier prompts have larger covariances". In the family with one right
    answer, of probability p, and n - 1 equally likely wrong ones, with l the difference of their
    log-probabilities, Cov(log pi, pi A) = n/(n - 1) p^2 (1 - p)^2 l. It is not monotone in p: between two prompts
    that both have (2p - 1) l <= 1/2 it rises with p, and between two on one side of that interval it falls. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Comparisons Contributions OrderedRewards
  Masks Growth RewardGroups.
From Trusted.Statements.entropy_mechanism Require difficulty.
Open Scope R_scope.

(** The logits: the right answer, which is the first, has logit l, the others 0. *)
Definition prompt (l : R) : vector := fun a => l * at_action 0 a.
Definition right_answer : vector := at_action 0.

(** Cov(log pi, pi A) for the reward of the right answer. *)
Definition covariance_of (n : nat) (l : R) : R :=
  covariance n (softmax n (prompt l)) (log_softmax n (prompt l))
    (fun a => softmax n (prompt l) a * centered n (softmax n (prompt l)) right_answer a).

(** (2p - 1) l, which the peak depends on. *)
Definition turning (n : nat) (l : R) : R := (2 * softmax n (prompt l) 0%nat - 1) * l.

Section Family.

Variable k : nat.
Hypothesis some_wrong : (1 <= k)%nat.

Let n := S k.
Let p (l : R) : R := softmax n (prompt l) 0%nat.

Lemma some : (0 < n)%nat.
Proof. unfold n; lia. Qed.

Lemma many : 1 <= INR k.
Proof. change 1 with (INR 1); apply le_INR, some_wrong. Qed.

Lemma normalizer l : sum n (fun b => exp (prompt l b)) = exp l + INR k.
Proof.
  unfold n; rewrite sum_first; unfold prompt, at_action, only; simpl.
  rewrite Rmult_1_r, (sum_ext k _ (fun _ => 1)), sum_const by (intros; rewrite Rmult_0_r; apply exp_0); ring.
Qed.

Lemma p_eq l : p l = exp l / (exp l + INR k).
Proof. unfold p, softmax; rewrite normalizer; unfold prompt, at_action, only; simpl; rewrite Rmult_1_r; reflexivity. Qed.

Lemma wrong_eq l a : softmax n (prompt l) (S a) = (1 - p l) / INR k.
Proof.
  rewrite p_eq; unfold softmax; rewrite normalizer; unfold prompt, at_action, only; simpl.
  rewrite Rmult_0_r, exp_0; pose proof many; pose proof (exp_pos l); field; lra.
Qed.

Lemma p_bounds l : 0 < p l < 1.
Proof.
  rewrite p_eq; pose proof many; pose proof (exp_pos l); split.
  - apply Rdiv_lt_0_compat; lra.
  - apply (Rmult_lt_reg_r (exp l + INR k)); [lra|].
    replace (exp l / (exp l + INR k) * (exp l + INR k)) with (exp l) by (field; lra); lra.
Qed.

Lemma p_increases x y : x <= y -> p x <= p y.
Proof.
  intros order; rewrite !p_eq; pose proof many; pose proof (exp_pos x); pose proof (exp_pos y).
  assert (exp x <= exp y) by (destruct order as [strict|same];
    [apply Rlt_le, exp_increasing, strict|rewrite same; lra]).
  apply (Rmult_le_reg_r ((exp x + INR k) * (exp y + INR k))); [apply Rmult_lt_0_compat; lra|].
  replace (exp x / (exp x + INR k) * ((exp x + INR k) * (exp y + INR k)))
    with (exp x * exp y + INR k * exp x) by (field; lra).
  replace (exp y / (exp y + INR k) * ((exp x + INR k) * (exp y + INR k)))
    with (exp x * exp y + INR k * exp y) by (field; lra).
  apply Rplus_le_compat_l, Rmult_le_compat_l; lra.
Qed.

(** Below chance, where l < 0, the right answer has less than 1/2. *)
Lemma below_chance l : l < 0 -> 2 * p l < 1.
Proof.
  intros negative; rewrite p_eq; pose proof many; pose proof (exp_pos l).
  assert (exp l < 1) by (rewrite <- exp_0; apply exp_increasing, negative).
  apply (Rmult_lt_reg_r (exp l + INR k)); [lra|].
  replace (2 * (exp l / (exp l + INR k)) * (exp l + INR k)) with (2 * exp l) by (field; lra); lra.
Qed.

Lemma closed_form l : covariance_of n l = INR n / INR k * (p l * p l * ((1 - p l) * (1 - p l)) * l).
Proof.
  unfold covariance_of; rewrite plain_covariance_eq by exact some.
  pose proof (softmax_sum n (prompt l) some) as one.
  assert (mean_of : forall right wrong f, f 0%nat = right -> (forall a, f (S a) = wrong) ->
            mean n (softmax n (prompt l)) f = p l * right + (1 - p l) * wrong).
  { intros right wrong f at_right at_wrong; unfold mean, n; rewrite sum_first; fold n.
    rewrite (sum_ext k _ (fun _ => (1 - p l) / INR k * wrong))
      by (intros; rewrite wrong_eq, at_wrong; reflexivity).
    rewrite sum_const, at_right; fold (p l); pose proof many; field; lra. }
  assert (center : mean n (softmax n (prompt l)) (prompt l) = p l * l).
  { rewrite (mean_of l 0); [ring| |]; intros; unfold prompt, at_action, only; simpl; ring. }
  rewrite covariance_eq by exact one.
  rewrite (mean_of (p l * (l - p l * l)) 0 (fun a => right_answer a * own_covariance n (prompt l) a)).
  - rewrite (mean_of 1 0 right_answer) by reflexivity.
    rewrite (mean_of (p l * (l - p l * l)) ((1 - p l) / INR k * (0 - p l * l)) (own_covariance n (prompt l))).
    + unfold n; rewrite S_INR; pose proof many; field; lra.
    + unfold own_covariance, centered; rewrite center; fold (p l).
      unfold prompt at 1, at_action, only; simpl; ring.
    + intros a; unfold own_covariance, centered; rewrite center, wrong_eq.
      unfold prompt, at_action, only; simpl; ring.
  - unfold own_covariance, centered; rewrite center; fold (p l).
    unfold right_answer, prompt at 1, at_action, only; simpl; ring.
  - intros a; unfold right_answer, at_action, only; simpl; ring.
Qed.

Lemma is_derive_p l : is_derive p l (p l * (1 - p l)).
Proof.
  evar_last.
  - apply (is_derive_softmax n prompt (at_action 0) l some); [|exact some].
    intros a _; unfold prompt; auto_derive; [trivial|ring].
  - unfold centered; rewrite mean_at_action by exact some; fold (p l).
    unfold at_action, only; simpl; ring.
Qed.

(** d Cov/dl = n/(n - 1) p^2 (1 - p)^2 (1 - 2 (2p - 1) l). *)
Lemma is_derive_covariance l :
  is_derive (covariance_of n) l
    (INR n / INR k * (p l * p l * ((1 - p l) * (1 - p l))) * (1 - 2 * turning n l)).
Proof.
  apply is_derive_ext with (f := fun x => INR n / INR k * (p x * p x * ((1 - p x) * (1 - p x)) * x)).
  { intros x; symmetry; apply closed_form. }
  pose proof (is_derive_p l) as slope.
  assert (wrong_slope : is_derive (fun x => 1 - p x) l (- (p l * (1 - p l)))).
  { evar_last; [apply @is_derive_minus; [apply @is_derive_const|exact slope]|].
    unfold minus, plus, opp, zero; simpl; ring. }
  evar_last.
  - apply is_derive_scal.
    apply @is_derive_mult; [|apply @is_derive_id|intros; apply Rmult_comm].
    apply @is_derive_mult; [|apply @is_derive_mult|intros; apply Rmult_comm];
      [apply @is_derive_mult; [exact slope|exact slope|intros; apply Rmult_comm]
      |exact wrong_slope|exact wrong_slope|intros; apply Rmult_comm].
  - unfold plus, mult, one; simpl; unfold turning; fold (p l); ring.
Qed.

Lemma is_derive_turning l : is_derive (turning n) l (2 * (p l * (1 - p l)) * l + (2 * p l - 1)).
Proof.
  pose proof (is_derive_p l) as slope; unfold turning; fold p.
  evar_last.
  - apply @is_derive_mult; [|apply @is_derive_id|intros; apply Rmult_comm].
    apply @is_derive_minus; [apply is_derive_scal, slope|apply @is_derive_const].
  - unfold plus, mult, minus, opp, zero, one; simpl; fold (p l); unfold plus, mult; simpl; ring.
Qed.

Lemma turning_falls_below_chance x y : x < y -> y <= 0 -> turning n y < turning n x.
Proof.
  intros order negative.
  apply (strictly_decreasing_from_slope (turning n)
           (fun l => 2 * (p l * (1 - p l)) * l + (2 * p l - 1)));
    [exact order|intros; apply is_derive_turning|].
  intros l inside; pose proof (below_chance l ltac:(lra)); pose proof (p_bounds l).
  assert (0 <= 2 * (p l * (1 - p l)) * - l).
  { apply Rmult_le_pos; [|lra]; apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]. }
  lra.
Qed.

Lemma turning_rises_above_half x y :
  x < y -> 0 <= x -> 1 < 2 * p x -> turning n x < turning n y.
Proof.
  intros order positive half.
  apply (strictly_increasing_from_slope (turning n)
           (fun l => 2 * (p l * (1 - p l)) * l + (2 * p l - 1)));
    [exact order|intros; apply is_derive_turning|].
  intros l inside; pose proof (p_increases x l ltac:(lra)); pose proof (p_bounds l).
  assert (0 <= 2 * (p l * (1 - p l)) * l).
  { apply Rmult_le_pos; [|lra]; apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]. }
  lra.
Qed.

Lemma slope_factor_positive l : 0 < INR n / INR k * (p l * p l * ((1 - p l) * (1 - p l))).
Proof.
  pose proof many; pose proof (p_bounds l).
  apply Rmult_lt_0_compat.
  - apply Rdiv_lt_0_compat; [apply lt_0_INR, some|lra].
  - apply Rmult_lt_0_compat; apply Rmult_lt_0_compat; lra.
Qed.

Lemma rises harder easier :
  harder < easier -> turning n harder <= / 2 -> turning n easier <= / 2 ->
  covariance_of n harder < covariance_of n easier.
Proof.
  intros order harder_inside easier_inside.
  apply (strictly_increasing_from_slope (covariance_of n)
    (fun l => INR n / INR k * (p l * p l * ((1 - p l) * (1 - p l))) * (1 - 2 * turning n l)));
    [exact order|intros; apply is_derive_covariance|].
  intros l inside; apply Rmult_lt_0_compat; [apply slope_factor_positive|].
  enough (turning n l < / 2) by lra.
  destruct (Rlt_dec l 0) as [negative|nonneg].
  - pose proof (turning_falls_below_chance harder l); lra.
  - destruct (Rlt_dec 1 (2 * p l)) as [above|below].
    + pose proof (turning_rises_above_half l easier); lra.
    + unfold turning; fold (p l).
      assert (0 <= (1 - 2 * p l) * l) by (apply Rmult_le_pos; lra); lra.
Qed.

Lemma falls harder easier :
  harder < easier -> / 2 < turning n harder -> / 2 < turning n easier ->
  0 < harder \/ easier < 0 ->
  covariance_of n easier < covariance_of n harder.
Proof.
  intros order harder_past easier_past side.
  apply (strictly_decreasing_from_slope (covariance_of n)
    (fun l => INR n / INR k * (p l * p l * ((1 - p l) * (1 - p l))) * (1 - 2 * turning n l)));
    [exact order|intros; apply is_derive_covariance|].
  intros l inside.
  enough (0 < INR n / INR k * (p l * p l * ((1 - p l) * (1 - p l))) * (2 * turning n l - 1)) by lra.
  apply Rmult_lt_0_compat; [apply slope_factor_positive|].
  enough (/ 2 < turning n l) by lra.
  destruct side as [above|below].
  - assert (1 < 2 * p harder).
    { destruct (Rlt_dec 1 (2 * p harder)) as [|fails]; [assumption|].
      unfold turning in harder_past; fold (p harder) in harder_past.
      assert (0 <= (1 - 2 * p harder) * harder) by (apply Rmult_le_pos; lra); lra. }
    pose proof (turning_rises_above_half harder l); lra.
  - pose proof (turning_falls_below_chance l easier); lra.
Qed.

End Family.

Lemma rise_and_fall :
  forall (n : nat) (harder shift : R),
  (2 <= n)%nat -> 0 < shift ->
  let easier := harder + shift in
  (turning n harder <= / 2 -> turning n easier <= / 2 ->
   0 < covariance_of n easier - covariance_of n harder)
  /\ (/ 2 < turning n harder -> / 2 < turning n easier -> 0 < harder \/ easier < 0 ->
      0 < covariance_of n harder - covariance_of n easier).
Proof.
  intros n harder shift two positive easier; destruct n as [|k]; [lia|].
  assert (some_wrong : (1 <= k)%nat) by lia.
  assert (order : harder < easier) by (unfold easier; lra).
  split; intros.
  - pose proof (rises k some_wrong harder easier order); lra.
  - pose proof (falls k some_wrong harder easier order); lra.
Qed.

(** * Any logits that are alike on the wrong answers *)

Lemma covariance_same n p p' f f' g g' :
  (forall a, (a < n)%nat -> p a = p' a) -> (forall a, (a < n)%nat -> f a = f' a) ->
  (forall a, (a < n)%nat -> g a = g' a) -> covariance n p f g = covariance n p' f' g'.
Proof.
  intros same_p same_f same_g; rewrite (covariance_ext n p f g f' g') by assumption.
  assert (same_mean : forall x, mean n p x = mean n p' x)
    by (intros; apply sum_ext; intros; rewrite same_p; auto).
  unfold covariance, centered; rewrite !same_mean; reflexivity.
Qed.

Section OneOfFamily.

Variables (n : nat) (logits : vector).
Hypothesis two : (2 <= n)%nat.
Hypothesis alike :
  largest_on n (fun a => negb (Nat.eqb a 0)) logits <= smallest_on n (fun a => negb (Nat.eqb a 0)) logits.

Let l := logits 0%nat - logits 1%nat.

Lemma wrong_alike a : (a < n)%nat -> a <> 0%nat -> logits a = logits 1%nat.
Proof.
  intros inside wrong.
  assert (bounds : forall b, (b < n)%nat -> b <> 0%nat ->
    smallest_on n (fun a => negb (Nat.eqb a 0)) logits <= logits b
    <= largest_on n (fun a => negb (Nat.eqb a 0)) logits).
  { intros b b_inside b_wrong; split; [apply smallest_on_le|apply largest_on_ge];
      try assumption; destruct (Nat.eqb_spec b 0); congruence || reflexivity. }
  pose proof (bounds a inside wrong); pose proof (bounds 1%nat ltac:(lia) ltac:(lia)); lra.
Qed.

Lemma softmax_in_family a : (a < n)%nat -> softmax n logits a = softmax n (prompt l) a.
Proof.
  intros inside; rewrite <- (softmax_shift n (prompt l) (logits 1%nat)) by lia.
  apply softmax_ext; [|exact inside]; intros b b_inside; unfold prompt, at_action, only, l.
  destruct (Nat.eqb_spec 0 b) as [right|wrong]; [subst b; ring|].
  rewrite (wrong_alike b b_inside) by auto; ring.
Qed.

Lemma covariance_in_family :
  Statements.entropy_mechanism.difficulty.prompt_covariance n logits = covariance_of n l.
Proof.
  unfold covariance_of.
  transitivity (covariance n (softmax n logits) (log_softmax n logits)
    (fun a => softmax n logits a
              * centered n (softmax n logits) (fun b => if Nat.eqb b 0 then 1 else 0) a)).
  - symmetry; apply (plain_covariance_eq n logits); lia.
  - assert (same_mean : mean n (softmax n logits) (fun b => if Nat.eqb b 0 then 1 else 0)
                        = mean n (softmax n (prompt l)) right_answer).
    { apply sum_ext; intros b inside; rewrite softmax_in_family by exact inside.
      unfold right_answer, at_action, only; rewrite Nat.eqb_sym; reflexivity. }
    apply covariance_same; intros a inside; unfold log_softmax, centered;
      rewrite ?same_mean, ?softmax_in_family by exact inside; try reflexivity.
    unfold right_answer, at_action, only; rewrite Nat.eqb_sym; reflexivity.
Qed.

Lemma past_peak_in_family :
  Statements.entropy_mechanism.difficulty.past_peak n logits = turning n l - 1 / 2.
Proof.
  unfold Statements.entropy_mechanism.difficulty.past_peak, turning.
  rewrite softmax_in_family by lia; reflexivity.
Qed.

End OneOfFamily.

Theorem proved : Statements.entropy_mechanism.difficulty.repair.
Proof.
  intros n logits shift two positive alike branch.
  set (easier := Statements.entropy_mechanism.difficulty.easier n logits shift) in *.
  assert (easier_alike : largest_on n (fun a => negb (Nat.eqb a 0)) easier
                         <= smallest_on n (fun a => negb (Nat.eqb a 0)) easier).
  { destruct (largest_on_attained n (fun a => negb (Nat.eqb a 0)) easier) as [a [a_inside [a_wrong top]]].
    { exists 1%nat; split; [lia|reflexivity]. }
    destruct (smallest_on_attained n (fun a => negb (Nat.eqb a 0)) easier) as [b [b_inside [b_wrong low]]].
    { exists 1%nat; split; [lia|reflexivity]. }
    rewrite top, low; unfold easier, Statements.entropy_mechanism.difficulty.easier.
    destruct (Nat.eqb_spec a 0); [discriminate|]; destruct (Nat.eqb_spec b 0); [discriminate|].
    rewrite (wrong_alike n logits two alike a), (wrong_alike n logits two alike b) by assumption; lra. }
  set (l := logits 0%nat - logits 1%nat) in *.
  assert (moved : easier 0%nat - easier 1%nat = l + shift)
    by (unfold easier, Statements.entropy_mechanism.difficulty.easier, l; simpl; ring).
  rewrite moved in branch.
  rewrite (covariance_in_family n logits two alike), (covariance_in_family n easier two easier_alike), moved.
  rewrite (past_peak_in_family n logits two alike), (past_peak_in_family n easier two easier_alike), moved in *.
  fold l; fold l in branch.
  destruct (rise_and_fall n l shift two positive) as [rises falls].
  set (harder_past := turning n l - 1 / 2) in *; set (easier_past := turning n (l + shift) - 1 / 2) in *.
  destruct (less 0 (Rmax harder_past easier_past)) eqn:which; cbn [negb].
  - apply is_less in which; destruct branch as [not_past|[past side]]; [contradiction|].
    assert (0 < harder_past) by (eapply Rlt_le_trans; [exact past|apply Rmin_l]).
    assert (0 < easier_past) by (eapply Rlt_le_trans; [exact past|apply Rmin_r]).
    unfold harder_past, easier_past in *; specialize (falls ltac:(lra) ltac:(lra) side); lra.
  - apply is_not_less in which.
    pose proof (Rmax_l harder_past easier_past); pose proof (Rmax_r harder_past easier_past).
    unfold harder_past, easier_past in *; apply rises; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.entropy_mechanism.difficulty.witness.
Proof.
  exists 2%nat, (fun _ => 0), (ln 2); do 3 (split; [witnessed|]); left.
  intros past; revert past; apply Rle_not_lt; numbers.
Qed.
