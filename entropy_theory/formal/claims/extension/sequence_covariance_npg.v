(** Extension of the Entropy Mechanism, Theorem 2: under the natural policy gradient of token logits the
    entropy of responses moves by -Cov_y(log pi(y), A(y)), A(y) = R(y) - V.

    The natural gradient is the token advantage: the Fisher information of responses times it is the
    gradient of E R, in every direction w. Along it the scores telescope to R(y) - V. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let step := advantage n h z (edge_reward h reward) in
  (forall w : state -> vector,
     derivative (fun t => mean_responses n h (moved z t w) reward) 0
       (mean_responses n h z (fun y =>
          sum_along (centered_policy n z step) y * sum_along (centered_policy n z w) y))) /\
  derivative (fun t => response_entropy n h (moved z t step)) 0
    (- covariance_responses n h z (fun y => ln (probability n z y))
         (fun y => reward y - mean_responses n h z reward)).
Proof.
  intros n h z reward several long step; assert (0 < n)%nat as some by lia; split.
  - intros w; apply is_derive_Reals; evar_last.
    + apply (is_derive_expected_reward n h (fun t => moved z t w) w 0 some); [|lia].
      intros; apply is_derive_moved.
    + rewrite fisher_information, moved_0 by assumption.
      apply sum_states_ext; intros s [short _]; f_equal.
      rewrite covariance_centered_l by (apply softmax_sum, some); apply mean_ext; intros a _.
      unfold centered, step; rewrite mean_advantage by assumption; ring.
  - apply is_derive_Reals; evar_last.
    + apply (is_derive_response_entropy n h (fun t => moved z t step) step 0 some).
      intros; apply is_derive_moved.
    + rewrite moved_0; f_equal; apply covariance_responses_ext; intros y [long_y below_n].
      * symmetry; apply ln_probability, some.
      * rewrite (sum_along_ext n h _ step) by (try lia; try assumption;
          intros s a [short _] _; unfold centered_policy, centered;
          unfold step; rewrite mean_advantage by assumption; ring).
        unfold step; rewrite sum_along_advantage, value_edge_reward by assumption.
        rewrite <- long_y, sum_along_edge_reward by lia; reflexivity.
Qed.
