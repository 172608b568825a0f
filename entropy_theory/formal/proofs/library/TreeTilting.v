(** Tilted policies on token trees, and the natural policy gradient flow.

    For any positive function g of responses, the token logits z(s, a) + log E[g | s, a] make a response
    y come with probability pi(y) g(y) / E g ([probability_tilted]). With g = e^{t R} they move as the
    natural policy gradient of E R does, and every path that moves so has these probabilities
    ([natural_flow_tilts]): the flow of token logits tilts whole responses. *)

From Coq Require Import Reals Lra Lia List FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeRates TreeGradients.
Import ListNotations.
Open Scope R_scope.

(** Logits of the policy whose responses have probabilities in proportion to pi(y) g(y). *)
Definition tilted_policy (n h : nat) (z : policy) (g : state -> R) : policy :=
  fun s a => z s a + ln (action_value n h z (edge_reward h g) s a).

Section Tilt.

Variable n : nat.
Hypothesis some : (0 < n)%nat.

Lemma sum_responses_pos h : forall f,
  (forall y, response_of n h y -> 0 < f y) -> 0 < sum_responses n h f.
Proof.
  induction h as [|k IH]; intros f positive; simpl.
  - apply positive; split; [reflexivity|constructor].
  - apply sum_pos; [assumption|]; intros a inside; apply IH; intros y response.
    apply positive, response_of_cons; assumption.
Qed.

Lemma sum_through_pos h z g s :
  (length s <= h)%nat -> tokens_below n s -> (forall y, response_of n h y -> 0 < g y) ->
  0 < sum_through n h z g s.
Proof.
  intros short below_n positive; apply sum_responses_pos; intros y [long below_y].
  apply Rmult_lt_0_compat; [apply probability_pos, some|]; apply positive; split.
  - rewrite app_length; lia.
  - apply List.Forall_app; split; assumption.
Qed.

Lemma action_value_edge_reward_pos h z g s a :
  state_of n h s -> (a < n)%nat -> (forall y, response_of n h y -> 0 < g y) ->
  0 < action_value n h z (edge_reward h g) s a.
Proof.
  intros [short below_n] inside positive.
  assert (0 < sum_through n h z g (s ++ [a])) as through.
  { apply sum_through_pos; [rewrite app_length; simpl; lia| |assumption].
    apply List.Forall_app; split; [assumption|constructor; [assumption|constructor]]. }
  rewrite sum_through_action_value in through by assumption.
  apply Rmult_lt_reg_l with (probability n z s * softmax n (z s) a); [|rewrite Rmult_0_r; exact through].
  apply Rmult_lt_0_compat; [apply probability_pos, some|apply softmax_pos, some].
Qed.

(** Adding logarithms to logits multiplies probabilities. *)
Lemma softmax_plus_ln z g a :
  (forall b, (b < n)%nat -> 0 < g b) -> (a < n)%nat ->
  softmax n (fun b => z b + ln (g b)) a = softmax n z a * g a / mean n (softmax n z) g.
Proof.
  intros positive inside; unfold mean, softmax.
  rewrite (sum_ext n (fun b => exp (z b + ln (g b))) (fun b => exp (z b) * g b)).
  2: { intros b b_inside; rewrite exp_plus, exp_ln; [reflexivity|apply positive, b_inside]. }
  rewrite exp_plus, exp_ln by (apply positive, inside).
  rewrite (sum_ext n (fun b => exp (z b) / sum n (fun c => exp (z c)) * g b)
             (fun b => / sum n (fun c => exp (z c)) * (exp (z b) * g b)))
    by (intros; unfold Rdiv; ring).
  rewrite sum_scal.
  pose proof (normalizer_pos n z some).
  assert (0 < sum n (fun b => exp (z b) * g b)).
  { apply sum_pos; [assumption|]; intros; apply Rmult_lt_0_compat; [apply exp_pos|auto]. }
  field; split; lra.
Qed.

Lemma probability_tilted h : forall z g y,
  (0 < h)%nat -> response_of n h y -> (forall x, response_of n h x -> 0 < g x) ->
  probability n (tilted_policy n h z g) y = probability n z y * g y / mean_responses n h z g.
Proof.
  induction h as [|k IH]; intros z g y long [length_y below_y] positive; [lia|].
  destruct y as [|a rest]; [discriminate|]; injection length_y as length_rest.
  inversion below_y as [|a' rest' inside below_rest]; subst a' rest'.
  rewrite !probability_after, <- (value_edge_reward n (S k)) by assumption.
  change (tilted_policy n (S k) z g []) with
    (fun b => z [] b + ln (action_value n (S k) z (edge_reward (S k) g) [] b)).
  rewrite softmax_plus_ln; [|intros; apply action_value_edge_reward_pos; try assumption; apply state_of_nil
                            |assumption].
  change (mean n (softmax n (z [])) (action_value n (S k) z (edge_reward (S k) g) []))
    with (value n (S k) z (edge_reward (S k) g)).
  rewrite action_value_root.
  assert (0 < value n (S k) z (edge_reward (S k) g)) as total_pos.
  { rewrite value_edge_reward by assumption.
    rewrite <- (Rmult_1_l (mean_responses _ _ _ _)).
    pose proof (sum_through_pos (S k) z g [] ltac:(simpl; lia) ltac:(constructor) positive) as through.
    rewrite sum_through_mean in through; exact through. }
  set (total := value n (S k) z (edge_reward (S k) g)) in *; clearbody total.
  destruct k as [|k].
  - destruct rest as [|b rest]; [|discriminate]; simpl; unfold edge_reward; simpl; field; lra.
  - change (edge_reward (S (S k)) g [] a) with 0; rewrite Rplus_0_l.
    change (after a (edge_reward (S (S k)) g)) with (edge_reward (S k) (after a g)).
    change (after a (tilted_policy n (S (S k)) z g)) with (tilted_policy n (S k) (after a z) (after a g)).
    assert (forall x, response_of n (S k) x -> 0 < after a g x) as positive_after
      by (intros; apply positive, response_of_cons; assumption).
    rewrite IH, value_edge_reward by (assumption || lia || (split; assumption)).
    assert (0 < mean_responses n (S k) (after a z) (after a g)) as mean_pos.
    { rewrite <- (Rmult_1_l (mean_responses _ _ _ _)).
      pose proof (sum_through_pos (S k) (after a z) (after a g) [] ltac:(simpl; lia) ltac:(constructor)
                    positive_after) as through.
      rewrite sum_through_mean in through; exact through. }
    change (after a g rest) with (g (a :: rest)); field; lra.
Qed.

Lemma mean_responses_pos h z g :
  (forall y, response_of n h y -> 0 < g y) -> 0 < mean_responses n h z g.
Proof.
  intros positive; apply sum_responses_pos; intros y response.
  apply Rmult_lt_0_compat; [apply probability_pos, some|apply positive, response].
Qed.

Lemma sum_through_tilted h z g f u :
  (0 < h)%nat -> (length u <= h)%nat -> tokens_below n u ->
  (forall x, response_of n h x -> 0 < g x) ->
  sum_through n h (tilted_policy n h z g) f u =
  sum_through n h z (fun y => g y * f y) u / mean_responses n h z g.
Proof.
  intros long short below_n positive; pose proof (mean_responses_pos h z g positive).
  unfold sum_through, Rdiv; rewrite Rmult_comm, <- sum_responses_scal.
  apply sum_responses_ext; intros y [long_y below_y].
  rewrite probability_tilted; [field; lra|assumption| |assumption].
  split; [rewrite app_length; lia|apply List.Forall_app; split; assumption].
Qed.

(** Under the tilted policy Q(s, a) is E[g f | s, a] / E[g | s, a]. *)
Lemma action_value_tilted h z g f s a :
  state_of n h s -> (a < n)%nat -> (forall x, response_of n h x -> 0 < g x) ->
  action_value n h (tilted_policy n h z g) (edge_reward h f) s a =
  action_value n h z (edge_reward h (fun y => g y * f y)) s a
  / action_value n h z (edge_reward h g) s a.
Proof.
  intros [short below_n] inside positive; set (tilted := tilted_policy n h z g).
  assert ((length (s ++ [a]) <= h)%nat) as short' by (rewrite app_length; simpl; lia).
  assert (tokens_below n (s ++ [a])) as below'
    by (apply List.Forall_app; split; [assumption|constructor; [assumption|constructor]]).
  pose proof (sum_through_tilted h z g f (s ++ [a]) ltac:(lia) short' below' positive) as with_f.
  pose proof (sum_through_tilted h z g (fun _ => 1) (s ++ [a]) ltac:(lia) short' below' positive) as with_1.
  fold tilted in with_f, with_1.
  rewrite probability_through in with_1 by assumption.
  assert (sum_through n h z (fun y => g y * 1) (s ++ [a]) = sum_through n h z g (s ++ [a])) as same
    by (apply sum_responses_ext; intros; ring).
  rewrite same in with_1; clear same.
  rewrite !sum_through_action_value in with_f by assumption.
  rewrite sum_through_action_value, probability_child in with_1 by assumption.
  rewrite with_1 in with_f.
  pose proof (action_value_edge_reward_pos h z g s a (conj short below_n) inside positive) as chosen.
  pose proof (mean_responses_pos h z g positive) as total.
  pose proof (probability_pos n z s some) as visited; pose proof (softmax_pos n (z s) a some) as token.
  set (q := action_value n h z (edge_reward h (fun y => g y * f y)) s a) in *.
  set (m := action_value n h z (edge_reward h g) s a) in *.
  set (w := probability n z s * softmax n (z s) a) in *.
  assert (0 < w) by (apply Rmult_lt_0_compat; assumption).
  apply (Rmult_eq_reg_l (w * m / mean_responses n h z g)).
  - rewrite with_f; field; lra.
  - apply Rgt_not_eq, Rdiv_lt_0_compat; [apply Rmult_lt_0_compat|]; assumption.
Qed.

(** A path that moves as the natural policy gradient of E R, up to a constant at each state, which
    softmax does not see. *)
Definition natural_flow (h : nat) (reward : state -> R) (path : R -> policy) : Prop :=
  exists shift : R -> state -> R, forall t s a,
  0 <= t -> state_of n h s -> (a < n)%nat ->
  is_derive (fun r => path r s a) t
    (advantage_at n h (path t) (edge_reward h reward) s a + shift t s).

Lemma flow_log_probability h reward path t y :
  (0 < h)%nat -> natural_flow h reward path -> 0 <= t -> response_of n h y ->
  is_derive (fun r => ln (probability n (path r) y)) t
    (reward y - mean_responses n h (path t) reward).
Proof.
  intros long [shift flows] later [length_y below_y].
  set (v := fun s a => advantage_at n h (path t) (edge_reward h reward) s a + shift t s).
  evar_last.
  - apply (is_derive_ln_probability n t y h path v); try assumption; [|lia].
    intros s a inside a_inside; apply flows; assumption.
  - rewrite (sum_along_ext n h _ (advantage_at n h (path t) (edge_reward h reward)));
      [|intros s a [short _] _|lia|assumption].
    + rewrite sum_along_advantage, value_edge_reward by assumption.
      rewrite <- length_y at 1; rewrite sum_along_edge_reward by lia; reflexivity.
    + unfold centered_policy, centered, v.
      rewrite (mean_plus n _ (advantage_at n h (path t) (edge_reward h reward) s) (fun _ => shift t s)).
      rewrite mean_advantage, mean_const by (assumption || (apply softmax_sum, some)); ring.
Qed.

(** What the tilt leaves of a log-probability moves alike for all responses. *)
Lemma flow_untilted h reward path t y :
  (0 < h)%nat -> natural_flow h reward path -> 0 <= t -> response_of n h y ->
  is_derive (fun r => ln (probability n (path r) y) - r * reward y) t
    (- mean_responses n h (path t) reward).
Proof.
  intros long flow later response.
  assert (is_derive (fun r => r * reward y) t (reward y)) as linear by (auto_derive; [trivial|ring]).
  evar_last.
  - apply @is_derive_minus; [apply (flow_log_probability h reward path t y); assumption|exact linear].
  - unfold minus, plus, opp; simpl; ring.
Qed.

(** The natural flow tilts responses: pi_t(y) = pi_0(y) e^{t R(y)} / E_0[e^{t R}]. *)
Theorem natural_flow_tilts h reward path t y :
  (0 < h)%nat -> natural_flow h reward path -> 0 <= t -> response_of n h y ->
  probability n (path t) y =
  probability n (path 0) y * exp (t * reward y)
  / mean_responses n h (path 0) (fun x => exp (t * reward x)).
Proof.
  intros long flow later response.
  set (f := fun x r => ln (probability n (path r) x) - r * reward x).
  assert (forall x, response_of n h x -> f x t - f y t = f x 0 - f y 0) as conserved.
  { intros x x_response.
    destruct (MVT_gen (fun r => f x r - f y r) 0 t (fun _ => 0)) as [c [_ same]].
    - intros r [above _]; rewrite Rmin_left in above by assumption.
      evar_last; [apply @is_derive_minus; apply (flow_untilted h reward path r); (assumption || lra)|].
      unfold minus, plus, opp; simpl; ring.
    - intros r [above _]; rewrite Rmin_left in above by assumption.
      apply continuity_pt_filterlim, (ex_derive_continuous (fun r => f x r - f y r)); eexists.
      apply @is_derive_minus; apply (flow_untilted h reward path r); (assumption || lra).
    - lra. }
  set (c := probability n (path t) y / (probability n (path 0) y * exp (t * reward y))).
  pose proof (probability_pos n (path 0) y some) as y_pos; pose proof (exp_pos (t * reward y)) as tilt_pos.
  assert (forall x, response_of n h x ->
            probability n (path t) x = c * (probability n (path 0) x * exp (t * reward x))) as shape.
  { intros x x_response; specialize (conserved x x_response); unfold f in conserved.
    pose proof (probability_pos n (path t) x some); pose proof (probability_pos n (path t) y some).
    pose proof (probability_pos n (path 0) x some); pose proof (exp_pos (t * reward x)).
    apply ln_inv; [assumption| |].
    - unfold c; repeat apply Rmult_lt_0_compat; try assumption.
      apply Rinv_0_lt_compat, Rmult_lt_0_compat; assumption.
    - assert (0 < probability n (path 0) y * exp (t * reward y)) by (apply Rmult_lt_0_compat; assumption).
      assert (0 < probability n (path 0) x * exp (t * reward x)) by (apply Rmult_lt_0_compat; assumption).
      assert (0 < c) by (apply Rdiv_lt_0_compat; assumption).
      rewrite ln_mult by assumption; unfold c; rewrite ln_div by assumption.
      rewrite !ln_mult, !ln_exp by assumption; lra. }
  assert (1 = c * mean_responses n h (path 0) (fun x => exp (t * reward x))) as total.
  { rewrite <- (probability_sum n h (path t) some); unfold mean_responses; rewrite <- sum_responses_scal.
    apply sum_responses_ext; intros x x_response; apply shape, x_response. }
  rewrite (shape y response).
  assert (mean_responses n h (path 0) (fun x => exp (t * reward x)) <> 0) as nonzero
    by (intros zero; rewrite zero in total; lra).
  set (normalizer := mean_responses n h (path 0) (fun x => exp (t * reward x))) in *.
  assert (c = / normalizer) as ->; [|unfold Rdiv; ring].
  apply Rmult_eq_reg_r with normalizer; [rewrite Rinv_l by assumption; lra|assumption].
Qed.

(** There is such a flow from every policy: the tilted ones. *)
Lemma is_derive_action_value_tilt h z reward s a t :
  state_of n h s ->
  is_derive (fun r => action_value n h z (edge_reward h (fun y => exp (r * reward y))) s a) t
    (action_value n h z (edge_reward h (fun y => exp (t * reward y) * reward y)) s a).
Proof.
  intros [short below_n].
  pose proof (probability_pos n z s some) as visited; pose proof (softmax_pos n (z s) a some) as token.
  set (w := probability n z s * softmax n (z s) a).
  assert (0 < w) as w_pos by (apply Rmult_lt_0_compat; assumption).
  assert (forall g, action_value n h z (edge_reward h g) s a = / w * sum_through n h z g (s ++ [a])) as conditional.
  { intros g; rewrite sum_through_action_value by assumption; fold w; field; lra. }
  apply is_derive_ext with (f := fun r => / w * sum_through n h z (fun y => exp (r * reward y)) (s ++ [a])).
  { intros r; symmetry; apply conditional. }
  rewrite conditional; apply is_derive_scal.
  apply (is_derive_sum_responses n _ t
    (fun r y => probability n z ((s ++ [a]) ++ y) * exp (r * reward ((s ++ [a]) ++ y)))
    (fun y => probability n z ((s ++ [a]) ++ y)
              * (exp (t * reward ((s ++ [a]) ++ y)) * reward ((s ++ [a]) ++ y)))).
  intros y _; auto_derive; [trivial|ring].
Qed.

Theorem natural_flow_exists h z reward :
  (0 < h)%nat ->
  let path t := tilted_policy n h z (fun y => exp (t * reward y)) in
  natural_flow h reward path /\
  (forall s a, state_of n h s -> (a < n)%nat -> path 0 s a = z s a).
Proof.
  intros long path; split.
  - exists (fun t s => value_at n h (path t) (edge_reward h reward) s); intros t s a later inside a_inside.
    assert (forall y, response_of n h y -> 0 < exp (t * reward y)) as positive by (intros; apply exp_pos).
    pose proof (action_value_edge_reward_pos h z _ s a inside a_inside positive) as chosen.
    unfold advantage_at; evar_last.
    + apply @is_derive_plus; [apply @is_derive_const|].
      apply (is_derive_comp ln); [apply is_derive_ln, chosen|apply is_derive_action_value_tilt, inside].
    + unfold path; rewrite action_value_tilted by assumption.
      unfold plus, zero, scal; simpl; unfold mult; simpl; field; lra.
  - intros s a inside a_inside; unfold path, tilted_policy.
    assert (action_value n h z (edge_reward h (fun y => exp (0 * reward y))) s a = 1) as one.
    { pose proof (probability_pos n z s some); pose proof (softmax_pos n (z s) a some).
      apply (Rmult_eq_reg_l (probability n z s * softmax n (z s) a));
        [|apply Rgt_not_eq, Rmult_lt_0_compat; assumption].
      rewrite <- sum_through_action_value by (assumption || apply inside).
      rewrite <- probability_child, Rmult_1_r, <- (probability_through n h) by assumption.
      apply sum_responses_ext; intros; rewrite Rmult_0_l, exp_0; reflexivity. }
    rewrite one, ln_1; ring.
Qed.

(** A flow along the advantage, written as what is left of the action values without their mean. *)
Lemma natural_flow_centered h reward path :
  (forall t, 0 <= t -> forall s, state_of n h s -> forall a, (a < n)%nat ->
     derivative (fun r => path r s a) t
       (centered n (softmax n (path t s)) (action_value n h (path t) (edge_reward h reward) s) a)) ->
  natural_flow h reward path.
Proof.
  intros follows; exists (fun _ _ => 0); intros t s a later inside a_inside.
  apply is_derive_Reals; rewrite Rplus_0_r, advantage_centered by apply inside.
  apply follows; assumption.
Qed.

(** The tilted policy moves along it, up to a constant at each state. *)
Lemma tilted_policy_moves h z reward elapsed s a :
  state_of n h s -> (a < n)%nat ->
  let now := tilted_policy n h z (fun y => exp (elapsed * reward y)) in
  derivative (fun t => tilted_policy n h z (fun y => exp (t * reward y)) s a) elapsed
    (centered n (softmax n (now s)) (action_value n h now (edge_reward h reward) s) a
     + value_at n h now (edge_reward h reward) s).
Proof.
  intros inside a_inside now.
  assert (forall y, response_of n h y -> 0 < exp (elapsed * reward y)) as weights by (intros; apply exp_pos).
  pose proof (action_value_edge_reward_pos h z _ s a inside a_inside weights) as chosen.
  apply is_derive_Reals; unfold tilted_policy; evar_last.
  - apply @is_derive_plus; [apply @is_derive_const|].
    apply (is_derive_comp ln); [apply is_derive_ln, chosen|apply is_derive_action_value_tilt; assumption].
  - rewrite <- advantage_centered by apply inside; unfold advantage_at, now.
    rewrite action_value_tilted by assumption.
    unfold plus, zero, scal; simpl; unfold mult; simpl; field; lra.
Qed.

End Tilt.
