(** Extension of the Entropy Mechanism, Theorem 2: under the natural policy gradient of token logits the
    entropy of responses moves by -Cov_y(log pi(y), A(y)), A(y) = R(y) - V.

    The natural gradient is the token advantage: the Fisher information of responses times it is the
    gradient of E R, in every direction w. Along it the scores telescope to R(y) - V. *)

From Coq Require Import Reals Lra Lia List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
From PolicyEntropy.library Require Import TreeDirections.
From Trusted.Statements.extension Require sequence_covariance_npg.
Module Stated := Statements.extension.sequence_covariance_npg.
Import ListNotations.
Open Scope R_scope.

Theorem entropy_under_natural_gradient :
  forall (n h : nat) (z : policy) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let step := advantage_at n h z (edge_reward h reward) in
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

Theorem proved : Statements.extension.sequence_covariance_npg.statement.
Proof.
  unfold Stated.statement, Stated.entropy_rate, Stated.response_covariance, Stated.summed.
  intros n h logits reward several long; assert (0 < n)%nat as some by lia.
  set (A := advantage_at n h logits (edge_reward h reward)).
  assert (forall s a, state_of n h s -> Stated.advantage n h logits reward s a = A s a) as same.
  { intros s a inside; unfold A; rewrite advantage_centered by apply inside; reflexivity. }
  assert (forall y, response_of n h y ->
    sum_along (fun s a => centered n (softmax n (logits s)) (Stated.advantage n h logits reward s) a) y
    = sum_along (centered_policy n logits A) y) as same_score.
  { intros y [long_y below_n]; apply (sum_along_ext n h); [|lia|assumption]; intros s a inside a_inside.
    unfold centered_policy, centered; rewrite same by assumption; f_equal.
    apply mean_ext; intros; apply same, inside. }
  destruct (entropy_under_natural_gradient n h logits reward several long) as [solves slope].
  cbv zeta in solves, slope; fold A in solves, slope.
  assert (- covariance_responses n h logits (fun y => ln (probability n logits y))
              (fun y => reward y - mean_responses n h logits reward)
          = - covariance_responses n h logits
              (sum_along (fun s a => log_softmax n (logits s) a))
              (fun y => reward y - mean_responses n h logits reward)) as log_response.
  { f_equal; apply covariance_responses_ext; intros; [apply ln_probability, some|reflexivity]. }
  assert (derivative (fun t => response_entropy n h (moved logits t (Stated.advantage n h logits reward))) 0
    (- covariance_responses n h logits (sum_along (fun s a => log_softmax n (logits s) a))
         (fun y => reward y - mean_responses n h logits reward))) as along_stated.
  { rewrite <- log_response; apply is_derive_Reals; apply is_derive_Reals in slope.
    evar_last; [apply (is_derive_response_entropy n h
      (fun t => moved logits t (Stated.advantage n h logits reward)) A 0 some)|].
    - intros s a inside a_inside; rewrite <- same by assumption; apply is_derive_moved.
    - pose proof (is_derive_response_entropy n h (fun t => moved logits t A) A 0 some
        (fun s a _ _ => is_derive_moved logits A 0 s a)) as plain; cbv beta in plain.
      rewrite moved_0 in plain |- *; apply is_derive_unique in slope; apply is_derive_unique in plain.
      rewrite <- slope, <- plain; reflexivity. }
  split; [|split].
  - pose proof (is_derive_response_entropy n h (fun t => moved logits t A) A 0 some
      (fun s a _ _ => is_derive_moved logits A 0 s a)) as plain; cbv beta in plain.
    rewrite moved_0 in plain.
    apply is_derive_Reals in slope; apply is_derive_unique in slope; apply is_derive_unique in plain.
    pose proof (eq_trans (eq_sym slope) plain) as same_slope; rewrite log_response in same_slope.
    change (sum_along (fun s a => log_softmax n (logits s) a)) with (sum_along (log_policy n logits)) in *.
    cbn [value_at].
    rewrite (value_ext n h logits _ (fun s a =>
      - (centered_policy n logits A s a * action_value n h logits (log_policy n logits) s a))).
    + rewrite value_opp, <- covariance_score_value by assumption; lra.
    + intros s a inside a_inside; unfold action_value.
      change (fun u b => - log_softmax n (logits u) b) with (fun u b => - log_policy n logits u b).
      rewrite value_at_opp; unfold centered_policy, centered; rewrite same by assumption.
      rewrite (mean_ext n _ (Stated.advantage n h logits reward s) (A s)) by (intros; apply same, inside).
      unfold log_policy; ring.
  - intros w; rewrite (mean_responses_ext n h logits _ (fun y =>
      sum_along (centered_policy n logits A) y * sum_along (centered_policy n logits w) y));
      [apply solves|].
    intros y response; f_equal; apply same_score, response.
  - exact along_stated.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.extension.sequence_covariance_npg.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)); witnessed.
Qed.
