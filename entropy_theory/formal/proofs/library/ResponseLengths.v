(** Responses that end with token 0: their lengths and rewards on a complete tree, where what follows the
    end is padding. *)

From Coq Require Import Reals Lra Lia List Bool FunctionalExtensionality.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeLargest TreeGradients TreeEnds
  Stationarity Comparisons.
Import ListNotations.
Open Scope R_scope.

Definition stop : state -> mask := fun _ b => Nat.eqb b 0.

(** * Sums along a response *)

Lemma sum_along_nonneg n h f y :
  response_of n h y -> (forall s a, state_of n h s -> (a < n)%nat -> 0 <= f s a) -> 0 <= sum_along f y.
Proof.
  intros [long below_n] nonneg; rewrite <- (sum_along_zero y).
  apply (sum_along_le n h); [assumption|lia|assumption].
Qed.

(** The number of tokens of a response. *)
Definition tokens (y : state) : R := sum_along (fun s a => if running stop s then 1 else 0) y.

Lemma tokens_at_least_one n h y : response_of n h y -> (1 <= h)%nat -> 1 <= tokens y.
Proof.
  destruct h as [|k]; [lia|]; destruct y as [|a rest]; intros [long below_n] _; [discriminate|].
  inversion below_n; subst; injection long as long.
  change (1 <= 1 + sum_along (after a (fun s _ => if running stop s then 1 else 0)) rest).
  enough (0 <= sum_along (after a (fun s _ => if running stop s then 1 else 0)) rest) by lra.
  apply (sum_along_nonneg n k); [split; assumption|]; intros s b _ _; unfold after.
  destruct (running stop (a :: s)); lra.
Qed.

(** * Responses of one length *)

(** Where the shortest and the longest of the responses with a positive score are equally long, each of them
    has this length. *)
Lemma one_length n h (score length_of : state -> R) :
  0 <= INR h - largest_responses n h (fun y => if less 0 (score y) then INR h - length_of y else 0)
       - largest_responses n h (fun y => if less 0 (score y) then length_of y else 0) ->
  forall y, response_of n h y -> 0 < score y ->
  length_of y = largest_responses n h (fun y => if less 0 (score y) then length_of y else 0).
Proof.
  intros equal y response scored.
  pose proof (largest_responses_ge n h (fun u => if less 0 (score u) then length_of u else 0) y response)
    as longest.
  pose proof (largest_responses_ge n h (fun u => if less 0 (score u) then INR h - length_of u else 0) y
    response) as shortest.
  simpl in longest, shortest; rewrite (proj2 (is_less 0 (score y)) scored) in longest, shortest; lra.
Qed.

(** * Gradients over responses *)

(** They see a function at the responses only. *)
Lemma sum_through_scal n h z f g c s b :
  state_of n h s -> (b < n)%nat -> (forall y, response_of n h y -> f y = c * g y) ->
  sum_through n h z f (s ++ [b]) = c * sum_through n h z g (s ++ [b]).
Proof.
  intros [short below_n] inside same; unfold sum_through; rewrite <- sum_responses_scal.
  apply sum_responses_ext; intros y [long y_below].
  rewrite app_length in long; simpl in long; rewrite (same ((s ++ [b]) ++ y)); [ring|].
  split; [rewrite !app_length; simpl; lia|].
  apply List.Forall_app; split; [apply List.Forall_app; split; [assumption|]|assumption].
  constructor; [assumption|constructor].
Qed.

Lemma response_gradient_scal n h z f g c s a :
  state_of n h s -> (a < n)%nat -> (forall y, response_of n h y -> f y = c * g y) ->
  gradient_over_responses n h z f s a = c * gradient_over_responses n h z g s a.
Proof.
  intros inside a_inside same; unfold gradient_over_responses.
  rewrite (sum_through_scal n h z f g c) by assumption.
  rewrite (sum_ext n _ (fun b => c * sum_through n h z g (s ++ [b])))
    by (intros; apply sum_through_scal; assumption).
  rewrite sum_scal; ring.
Qed.

(** * Rewards at the token that ends a response *)

Definition reward_at_end (h : nat) (reward : state -> vector) : state -> vector :=
  fun s a => if andb (running stop s) (orb (Nat.eqb a 0) (Nat.eqb (S (length s)) h)) then reward s a else 0.

Lemma reward_nonneg n h reward y :
  response_of n h y -> (forall s, state_of n h s -> forall a, (a < n)%nat -> 0 <= reward s a) ->
  0 <= sum_along (reward_at_end h reward) y.
Proof.
  intros response nonneg; apply (sum_along_nonneg n h); [assumption|]; intros s a inside a_inside.
  unfold reward_at_end; destruct (_ && _)%bool; [apply nonneg; assumption|lra].
Qed.

Lemma reward_at_end_is_until_end h reward :
  reward_at_end h reward
  = until_end stop (fun s a => if orb (Nat.eqb a 0) (Nat.eqb (S (length s)) h) then reward s a else 0).
Proof.
  apply functional_extensionality; intros s; apply functional_extensionality; intros a.
  unfold reward_at_end, until_end; destruct (running stop s); reflexivity.
Qed.

(** The policy gradient of the expected reward: REINFORCE before the end, and nothing in the padding. *)
Lemma reward_gradient n h z reward s a :
  (0 < n)%nat -> (length s < h)%nat ->
  probability n z s * softmax n (z s) a
    * (action_value n h z (reward_at_end h reward) s a - value_at n h z (reward_at_end h reward) s)
  = if running stop s
    then gradient_over_responses n h z (sum_along (reward_at_end h reward)) s a else 0.
Proof.
  intros some short; destruct (running stop s) eqn:alive.
  - assert (gradient_over_responses n h z (sum_along (reward_at_end h reward)) s a
            = gradient_over_responses n h z (fun y => sum_along (reward_at_end h reward) y + 0) s a) as same.
    { f_equal; apply functional_extensionality; intros y; ring. }
    rewrite same, response_gradient_sum_along by assumption; unfold advantage_at; ring.
  - rewrite reward_at_end_is_until_end, action_value_ended, value_at_ended by assumption; ring.
Qed.

(** It is REINFORCE everywhere, as the padding changes no reward. *)
Lemma reward_gradient_everywhere n h z reward s a :
  (0 < n)%nat -> (length s < h)%nat ->
  gradient_over_responses n h z (sum_along (reward_at_end h reward)) s a
  = if running stop s
    then gradient_over_responses n h z (sum_along (reward_at_end h reward)) s a else 0.
Proof.
  intros some short; rewrite <- reward_gradient by assumption.
  assert (gradient_over_responses n h z (sum_along (reward_at_end h reward)) s a
          = gradient_over_responses n h z (fun y => sum_along (reward_at_end h reward) y + 0) s a) as same.
  { f_equal; apply functional_extensionality; intros y; ring. }
  rewrite same, response_gradient_sum_along by assumption; unfold advantage_at; ring.
Qed.
