(** Extension of the Entropy Mechanism, Theorem 2, for responses of any lengths: under the natural policy
    gradient of token logits the entropy of responses moves by -Cov_y(log pi(y), A(y)), A(y) = R(y) - V.

    A response ends where [ends s a] says so, or with its h-th token. The natural gradient is the token
    advantage, for the Fisher information of these responses and their expected reward. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeEnds.
Import ListNotations.
Open Scope R_scope.

Theorem proved :
  forall (n h : nat) (ends : state -> mask) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let step := advantage n h z (edge_reward h (fun y => reward (cut ends y))) in
  (forall w : state -> vector,
     derivative (fun t => mean_ended n h ends (moved z t w) reward) 0
       (mean_ended n h ends z (fun y =>
          sum_along (centered_policy n z step) y * sum_along (centered_policy n z w) y))) /\
  derivative (fun t => ended_entropy n h ends (moved z t step)) 0
    (- covariance_ended n h ends z (fun y => ln (probability n z y))
         (fun y => reward y - mean_ended n h ends z reward)).
Proof.
  intros n h ends z reward several long step; assert (0 < n)%nat as some by lia; split.
  - intros w; apply is_derive_Reals, natural_gradient_ended; assumption.
  - apply is_derive_Reals; evar_last.
    + apply (is_derive_ended_entropy n h ends (fun t => moved z t step) step 0 some).
      intros; apply is_derive_moved.
    + rewrite moved_0, !covariance_ended_cut by assumption; f_equal.
      apply covariance_responses_ext; [reflexivity|]; intros y response.
      apply sum_along_advantage_ended; assumption.
Qed.
