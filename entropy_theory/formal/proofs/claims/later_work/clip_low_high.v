(** Clip-low and clip-high under random symmetric rewards (arXiv 2509.26114). The advantage of a sampled token
    is +1 or -1 with equal chance; PPO's clip takes out the tokens with A = 1 and a ratio above 1 + epsilon, and
    those with A = -1 and a ratio below 1 - epsilon. If every action whose ratio has left the band is below e^{-H},
    the lower clip raises entropy and the upper one lowers it, to first order; not in general. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Contributions Masks.
From Trusted.Statements.later_work Require clip_low_high.
Open Scope R_scope.

(** The ratio to the policy that tokens were sampled from: since then the logits have drifted. *)
Definition ratio (n : nat) (z drift : vector) : vector :=
  fun a => softmax n z a / softmax n (fun b => z b - drift b) a.
Definition above (n : nat) (z drift : vector) (epsilon : R) : mask :=
  fun a => less (1 + epsilon) (ratio n z drift a).
Definition below (n : nat) (z drift : vector) (epsilon : R) : mask :=
  fun a => less (ratio n z drift a) (1 - epsilon).

(** The expected logit step: an unclipped token has the weighted score pi_old r A = pi A. *)
Definition expected_step (n : nat) (z drift : vector) (epsilon : R) (clip_low clip_high : bool) : vector :=
  score_step n z (fun a =>
    ((if clip_high then only (complement (above n z drift epsilon)) (softmax n z) a else softmax n z a)
     - (if clip_low then only (complement (below n z drift epsilon)) (softmax n z) a else softmax n z a))
    / 2).
Definition effect (n : nat) (z drift : vector) (epsilon : R) (clip_low clip_high : bool) : R :=
  first_order n z (expected_step n z drift epsilon clip_low clip_high).

(** PPO's objective for one token, and its slope in the ratio, off the edges of the band. *)
Definition clipped_objective (epsilon A r : R) : R :=
  Rmin (r * A) (Rmax (1 - epsilon) (Rmin r (1 + epsilon)) * A).

Lemma slope_if_eventually f x l m c :
  locally x (fun r => f r = m * r + c) -> l = m -> is_derive f x l.
Proof.
  intros line same; subst l; apply is_derive_ext_loc with (f := fun r => m * r + c).
  - revert line; apply filter_imp; intros r equal; symmetry; exact equal.
  - auto_derive; [trivial|ring].
Qed.

(** Decides the innermost comparisons first. *)
Ltac decide_extremes :=
  unfold clipped_objective, Rmin, Rmax;
  repeat match goal with
         | |- context [Rle_dec ?x ?y] =>
             lazymatch x with context [Rle_dec _ _] => fail | _ => idtac end;
             lazymatch y with context [Rle_dec _ _] => fail | _ => idtac end;
             destruct (Rle_dec x y)
         end; lra.

Lemma slope_of_positive_token epsilon r :
  0 < epsilon -> (r < 1 + epsilon -> is_derive (clipped_objective epsilon 1) r 1)
                 /\ (1 + epsilon < r -> is_derive (clipped_objective epsilon 1) r 0).
Proof.
  intros positive; split; intros side.
  - apply (slope_if_eventually _ _ _ 1 0); [|reflexivity].
    generalize (open_lt (1 + epsilon) r side); apply filter_imp; intros; decide_extremes.
  - apply (slope_if_eventually _ _ _ 0 (1 + epsilon)); [|reflexivity].
    generalize (open_gt (1 + epsilon) r side); apply filter_imp; intros; decide_extremes.
Qed.

Lemma slope_of_negative_token epsilon r :
  0 < epsilon -> (1 - epsilon < r -> is_derive (clipped_objective epsilon (- 1)) r (- 1))
                 /\ (r < 1 - epsilon -> is_derive (clipped_objective epsilon (- 1)) r 0).
Proof.
  intros positive; split; intros side.
  - apply (slope_if_eventually _ _ _ (- 1) 0); [|reflexivity].
    generalize (open_gt (1 - epsilon) r side); apply filter_imp; intros; decide_extremes.
  - apply (slope_if_eventually _ _ _ 0 (- (1 - epsilon))); [|reflexivity].
    generalize (open_lt (1 - epsilon) r side); apply filter_imp; intros; decide_extremes.
Qed.

Section OneState.

Variables (n : nat) (z drift : vector) (epsilon : R).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.

Lemma effect_of_clip_low :
  2 * effect n z drift epsilon true false
  = total_on n (below n z drift epsilon) (fun a => p a * - excess n z a).
Proof.
  unfold effect, expected_step; rewrite first_order_score_step by exact some.
  rewrite <- sum_opp, <- sum_scal; apply sum_ext; intros a _; unfold only, complement; fold p.
  destruct (below n z drift epsilon a); simpl; field.
Qed.

Lemma effect_of_clip_high :
  2 * effect n z drift epsilon false true
  = - total_on n (above n z drift epsilon) (fun a => p a * - excess n z a).
Proof.
  unfold effect, expected_step; rewrite first_order_score_step by exact some.
  unfold total_on; rewrite <- !sum_opp, <- sum_scal; apply sum_ext; intros a _.
  unfold only, complement; fold p; destruct (above n z drift epsilon a); simpl; field.
Qed.

Lemma rare_share A :
  nonempty n A ->
  (forall a, (a < n)%nat -> A a = true -> centered n p z a < 0) ->
  0 < total_on n A (fun a => p a * - excess n z a).
Proof.
  intros some_outside rare; apply total_on_pos; [exact some_outside|]; intros a inside member.
  apply Rmult_lt_0_compat; [apply softmax_pos, some|].
  pose proof (rare_below_mean n z some a (rare a inside member)); lra.
Qed.

End OneState.

Lemma low_raises_and_high_lowers :
  forall (n : nat) (logits drift : vector) (epsilon : R),
  (1 <= n)%nat -> 0 < epsilon -> epsilon < 1 ->
  (forall a, (a < n)%nat ->
     (above n logits drift epsilon a || below n logits drift epsilon a)%bool = true ->
     centered n (softmax n logits) logits a < 0) ->
  (nonempty n (below n logits drift epsilon) -> 0 < effect n logits drift epsilon true false)
  /\ (nonempty n (above n logits drift epsilon) -> effect n logits drift epsilon false true < 0).
Proof.
  intros n logits drift epsilon one positive small rare; assert (some : (0 < n)%nat) by lia.
  split; intros some_outside.
  - assert (0 < total_on n (below n logits drift epsilon)
                  (fun a => softmax n logits a * - excess n logits a)) as share.
    { apply rare_share; [exact some|exact some_outside|].
      intros a inside member; apply rare; [exact inside|rewrite member; apply orb_true_r]. }
    rewrite <- effect_of_clip_low in share by exact some; lra.
  - assert (0 < total_on n (above n logits drift epsilon)
                  (fun a => softmax n logits a * - excess n logits a)) as share.
    { apply rare_share; [exact some|exact some_outside|].
      intros a inside member; apply rare; [exact inside|rewrite member; reflexivity]. }
    pose proof (effect_of_clip_high n logits drift epsilon some); lra.
Qed.

Theorem proved : Statements.later_work.clip_low_high.repair.
Proof.
  intros n logits drift epsilon two positive small _ rare_outside.
  assert (rare : forall a, (a < n)%nat ->
     (above n logits drift epsilon a || below n logits drift epsilon a)%bool = true ->
     centered n (softmax n logits) logits a < 0).
  { intros a inside outside.
    destruct (Rlt_dec (centered n (softmax n logits) logits a) 0) as [|not_rare]; [assumption|exfalso].
    apply rare_outside; exists a; split; [exact inside|split; [|exact not_rare]].
    apply orb_true_iff in outside; exact outside. }
  destruct (low_raises_and_high_lowers n logits drift epsilon ltac:(lia) positive small rare) as [low high].
  apply Rmin_glb_lt.
  - destruct (some_on n (below n logits drift epsilon)) eqn:found.
    + change (some_on n (Statements.later_work.clip_low_high.below n logits drift epsilon) = true) in found.
      rewrite found; apply low, some_on_spec, found.
    + change (some_on n (Statements.later_work.clip_low_high.below n logits drift epsilon) = false) in found.
      rewrite found; lra.
  - destruct (some_on n (above n logits drift epsilon)) eqn:found.
    + change (some_on n (Statements.later_work.clip_low_high.above n logits drift epsilon) = true) in found.
      rewrite found; apply Ropp_0_gt_lt_contravar, high, some_on_spec, found.
    + change (some_on n (Statements.later_work.clip_low_high.above n logits drift epsilon) = false) in found.
      rewrite found; lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.later_work.clip_low_high.witness.
Proof.
  exists 2%nat, one_to_two, (fun a => match a with 0%nat => 0 | _ => - ln 2 end), (1 / 2).
  do 3 (split; [witnessed|]); split.
  - exists 0%nat; split; [lia|]; left; numbers.
  - intros (a & inside & [up|down] & kept); destruct a as [|[|]]; try lia.
    + apply kept; numbers.
    + revert up; numbers.
    + apply kept; numbers.
    + revert down; numbers.
Qed.

Theorem defined : Statements.later_work.clip_low_high.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.later_work Require clip_low_high.
From Trusted.Conditions.later_work Require clip_low_high.

Theorem slope_of_positive_token_witness : Conditions.later_work.clip_low_high.slope_of_positive_token_witness.
Proof. exists 1, 0; lra. Qed.

Theorem slope_of_positive_token_witness_1 : Conditions.later_work.clip_low_high.slope_of_positive_token_witness_1.
Proof. exists 1, 3; lra. Qed.

Theorem slope_of_negative_token_witness : Conditions.later_work.clip_low_high.slope_of_negative_token_witness.
Proof. exists 1, 1; lra. Qed.

Theorem slope_of_negative_token_witness_1 : Conditions.later_work.clip_low_high.slope_of_negative_token_witness_1.
Proof. exists 1, (-1); lra. Qed.
