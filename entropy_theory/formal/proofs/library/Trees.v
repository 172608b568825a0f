(** Token trees: responses of h tokens out of n, a softmax over tokens at every state.

    Everything is an induction on the number of tokens to go: the first token, then the tree below it,
    which is the same kind of tree. Here are sums over responses and over states, probabilities (they sum
    to one, and the log-probability of a response is a sum along it), expectation and covariance over
    responses. Values are in TreeValues.v, rates along a path of logits in TreeRates.v. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics.
Import ListNotations.
Open Scope R_scope.

(** The tree of what follows a state. *)
Definition below {X : Type} (s : state) (f : state -> X) : state -> X := fun u => f (s ++ u).

(** * States *)

Definition tokens_below (n : nat) (s : state) : Prop := List.Forall (fun a => (a < n)%nat) s.
(** The responses of h tokens out of n. *)

Lemma state_of_nil n h : state_of n (S h) [].
Proof. split; simpl; [lia|constructor]. Qed.

Lemma state_of_cons n h a s : (a < n)%nat -> state_of n h s -> state_of n (S h) (a :: s).
Proof. intros inside [short below]; split; simpl; [lia|constructor; assumption]. Qed.

Lemma state_of_tail n h a s : state_of n (S h) (a :: s) -> (a < n)%nat /\ state_of n h s.
Proof.
  intros [short below]; simpl in short; inversion below; subst.
  repeat split; [assumption|lia|assumption].
Qed.

Lemma response_of_cons n h a y : (a < n)%nat -> response_of n h y -> response_of n (S h) (a :: y).
Proof. intros inside [long below]; split; simpl; [lia|constructor; assumption]. Qed.

Lemma after_after {X : Type} a b (f : state -> X) s : after b (after a f) s = f (a :: b :: s).
Proof. reflexivity. Qed.

(** * Sums over responses *)

Lemma sum_responses_ext n h : forall f g,
  (forall y, response_of n h y -> f y = g y) -> sum_responses n h f = sum_responses n h g.
Proof.
  induction h as [|k IH]; intros f g same; simpl.
  - apply same; split; [reflexivity|constructor].
  - apply sum_ext; intros a inside; apply IH; intros y response.
    apply same, response_of_cons; assumption.
Qed.

Lemma sum_responses_plus n h : forall f g,
  sum_responses n h (fun y => f y + g y) = sum_responses n h f + sum_responses n h g.
Proof.
  induction h as [|k IH]; intros f g; simpl; [reflexivity|].
  rewrite <- sum_plus; apply sum_ext; intros a _.
  apply (IH (after a f) (after a g)).
Qed.

Lemma sum_responses_scal n h : forall c f,
  sum_responses n h (fun y => c * f y) = c * sum_responses n h f.
Proof.
  induction h as [|k IH]; intros c f; simpl; [reflexivity|].
  rewrite <- sum_scal; apply sum_ext; intros a _; apply (IH c (after a f)).
Qed.

Lemma sum_responses_opp n h f : sum_responses n h (fun y => - f y) = - sum_responses n h f.
Proof.
  rewrite (sum_responses_ext n h _ (fun y => -1 * f y)) by (intros; ring).
  rewrite sum_responses_scal; ring.
Qed.

Lemma sum_responses_minus n h f g :
  sum_responses n h (fun y => f y - g y) = sum_responses n h f - sum_responses n h g.
Proof.
  rewrite (sum_responses_ext n h _ (fun y => f y + - g y)) by (intros; ring).
  rewrite sum_responses_plus, sum_responses_opp; ring.
Qed.

Lemma sum_responses_nonneg n h : forall f,
  (forall y, response_of n h y -> 0 <= f y) -> 0 <= sum_responses n h f.
Proof.
  induction h as [|k IH]; intros f nonneg; simpl.
  - apply nonneg; split; [reflexivity|constructor].
  - apply sum_nonneg; intros a inside; apply IH; intros y response.
    apply nonneg, response_of_cons; assumption.
Qed.

Lemma sum_responses_le n h f g :
  (forall y, response_of n h y -> f y <= g y) -> sum_responses n h f <= sum_responses n h g.
Proof.
  intros below; assert (0 <= sum_responses n h (fun y => g y - f y)) as gap.
  { apply sum_responses_nonneg; intros y response; specialize (below y response); lra. }
  rewrite sum_responses_minus in gap; lra.
Qed.

Lemma is_derive_sum_responses n h x : forall (f : R -> state -> R) (g : state -> R),
  (forall y, response_of n h y -> is_derive (fun t => f t y) x (g y)) ->
  is_derive (fun t => sum_responses n h (f t)) x (sum_responses n h g).
Proof.
  induction h as [|k IH]; intros f g each; simpl.
  - apply each; split; [reflexivity|constructor].
  - apply (is_derive_sum n (fun t a => sum_responses n k (after a (f t)))
             (fun a => sum_responses n k (after a g))).
    intros a inside; apply (IH (fun t => after a (f t)) (after a g)).
    intros y response; apply each, response_of_cons; assumption.
Qed.

(** * Sums over states *)

Lemma sum_first n f : sum (S n) f = f 0%nat + sum n (fun k => f (S k)).
Proof. induction n as [|k IH]; [simpl; ring|]. simpl in *; rewrite IH; ring. Qed.

(** The root, then the states behind each first token. *)
Lemma sum_states_first n h f :
  sum_states n (S h) f = f [] + sum n (fun a => sum_states n h (after a f)).
Proof.
  unfold sum_states; rewrite sum_first; simpl; f_equal.
  symmetry; apply (sum_swap n h (fun a t => sum_responses n t (after a f))).
Qed.

Lemma sum_states_ext n h : forall f g,
  (forall s, state_of n h s -> f s = g s) -> sum_states n h f = sum_states n h g.
Proof.
  induction h as [|k IH]; intros f g same; [reflexivity|].
  rewrite !sum_states_first; f_equal; [apply same, state_of_nil|].
  apply sum_ext; intros a inside; apply IH; intros s state.
  apply same, state_of_cons; assumption.
Qed.

Lemma sum_states_plus n h f g :
  sum_states n h (fun s => f s + g s) = sum_states n h f + sum_states n h g.
Proof.
  unfold sum_states; rewrite <- sum_plus; apply sum_ext; intros; apply sum_responses_plus.
Qed.

Lemma sum_states_scal n h c f : sum_states n h (fun s => c * f s) = c * sum_states n h f.
Proof.
  unfold sum_states; rewrite <- sum_scal; apply sum_ext; intros; apply sum_responses_scal.
Qed.

Lemma sum_states_opp n h f : sum_states n h (fun s => - f s) = - sum_states n h f.
Proof.
  unfold sum_states; rewrite <- sum_opp; apply sum_ext; intros; apply sum_responses_opp.
Qed.

Lemma sum_states_minus n h f g :
  sum_states n h (fun s => f s - g s) = sum_states n h f - sum_states n h g.
Proof.
  unfold sum_states; rewrite <- sum_minus; apply sum_ext; intros; apply sum_responses_minus.
Qed.

Lemma sum_states_nonneg n h f :
  (forall s, state_of n h s -> 0 <= f s) -> 0 <= sum_states n h f.
Proof.
  intros nonneg; apply sum_nonneg; intros t inside; apply sum_responses_nonneg.
  intros y [long below]; apply nonneg; split; [lia|assumption].
Qed.

Lemma sum_states_le n h f g :
  (forall s, state_of n h s -> f s <= g s) -> sum_states n h f <= sum_states n h g.
Proof.
  intros below; assert (0 <= sum_states n h (fun s => g s - f s)) as gap.
  { apply sum_states_nonneg; intros s state; specialize (below s state); lra. }
  rewrite sum_states_minus in gap; lra.
Qed.

(** Each response is counted once at each of its states: the states behind s, from its children. *)
Lemma sum_responses_swap n h m (f : nat -> state -> R) :
  sum m (fun a => sum_responses n h (f a)) = sum_responses n h (fun y => sum m (fun a => f a y)).
Proof.
  revert f; induction h as [|k IH]; intros f; simpl; [reflexivity|].
  rewrite sum_swap; apply sum_ext; intros b _; apply (IH (fun a => after b (f a))).
Qed.

(** * Probabilities *)

Lemma probability_pos n z s : (0 < n)%nat -> 0 < probability n z s.
Proof.
  intros some; revert z; induction s as [|a rest IH]; intros z; simpl; [lra|].
  apply Rmult_lt_0_compat; [apply softmax_pos, some|apply IH].
Qed.

Lemma probability_after n z a s :
  probability n z (a :: s) = softmax n (z []) a * probability n (after a z) s.
Proof. reflexivity. Qed.

Lemma probability_app n z s u :
  probability n z (s ++ u) = probability n z s * probability n (below s z) u.
Proof.
  revert z; induction s as [|a rest IH]; intros z; simpl.
  - rewrite Rmult_1_l; reflexivity.
  - rewrite IH; unfold below, after; simpl; ring.
Qed.

(** d(s) pi(a|s) is the probability of visiting the child. *)
Lemma probability_child n z s a :
  probability n z (s ++ [a]) = probability n z s * softmax n (z s) a.
Proof. rewrite probability_app; unfold below; simpl; rewrite app_nil_r; ring. Qed.

(** The log-probability of a response is the sum along it. *)
Lemma ln_probability n z s :
  (0 < n)%nat -> ln (probability n z s) = sum_along (log_policy n z) s.
Proof.
  intros some; revert z; induction s as [|a rest IH]; intros z; simpl; [apply ln_1|].
  rewrite ln_mult by (apply softmax_pos, some || apply probability_pos, some).
  rewrite IH; reflexivity.
Qed.

Lemma sum_along_app f s u : sum_along f (s ++ u) = sum_along f s + sum_along (below s f) u.
Proof.
  revert f; induction s as [|a rest IH]; intros f; simpl.
  - rewrite Rplus_0_l; reflexivity.
  - rewrite IH; unfold below, after; simpl; ring.
Qed.

Lemma sum_along_ext n h : forall f g y,
  (forall s a, state_of n h s -> (a < n)%nat -> f s a = g s a) ->
  (length y <= h)%nat -> tokens_below n y -> sum_along f y = sum_along g y.
Proof.
  induction h as [|k IH]; intros f g [|a rest] same short below_n; simpl in *; try reflexivity; [lia|].
  inversion below_n; subst.
  rewrite same by (try apply state_of_nil; assumption); f_equal.
  apply IH; [|lia|assumption].
  intros s b state inside; apply same; [apply state_of_cons|]; assumption.
Qed.

Lemma sum_along_plus f g y : sum_along (fun s a => f s a + g s a) y = sum_along f y + sum_along g y.
Proof.
  revert f g; induction y as [|a rest IH]; intros f g; simpl; [ring|].
  unfold after in *; rewrite (IH (fun s => f (a :: s)) (fun s => g (a :: s))); ring.
Qed.

Lemma sum_along_scal c f y : sum_along (fun s a => c * f s a) y = c * sum_along f y.
Proof.
  revert f; induction y as [|a rest IH]; intros f; simpl; [ring|].
  unfold after in *; rewrite (IH (fun s => f (a :: s))); ring.
Qed.

Lemma sum_along_opp f y : sum_along (fun s a => - f s a) y = - sum_along f y.
Proof.
  revert f; induction y as [|a rest IH]; intros f; simpl; [ring|].
  unfold after in *; rewrite (IH (fun s => f (a :: s))); ring.
Qed.

Lemma sum_along_minus f g y : sum_along (fun s a => f s a - g s a) y = sum_along f y - sum_along g y.
Proof.
  revert f g; induction y as [|a rest IH]; intros f g; simpl; [ring|].
  unfold after in *; rewrite (IH (fun s => f (a :: s)) (fun s => g (a :: s))); ring.
Qed.

(** * Expectation over responses *)

(** The first token, then the rest. *)
Lemma mean_responses_first n h z f :
  mean_responses n (S h) z f =
  mean n (softmax n (z [])) (fun a => mean_responses n h (after a z) (after a f)).
Proof.
  unfold mean_responses, mean; simpl; apply sum_ext; intros a _.
  rewrite <- sum_responses_scal; apply sum_responses_ext; intros y _.
  unfold after; simpl; fold (after a z); ring.
Qed.

Lemma mean_responses_ext n h z f g :
  (forall y, response_of n h y -> f y = g y) -> mean_responses n h z f = mean_responses n h z g.
Proof. intros same; apply sum_responses_ext; intros y response; rewrite same; auto. Qed.

Lemma mean_responses_plus n h z f g :
  mean_responses n h z (fun y => f y + g y) = mean_responses n h z f + mean_responses n h z g.
Proof.
  unfold mean_responses; rewrite <- sum_responses_plus; apply sum_responses_ext; intros; ring.
Qed.

Lemma mean_responses_minus n h z f g :
  mean_responses n h z (fun y => f y - g y) = mean_responses n h z f - mean_responses n h z g.
Proof.
  unfold mean_responses; rewrite <- sum_responses_minus; apply sum_responses_ext; intros; ring.
Qed.

Lemma mean_responses_opp n h z f :
  mean_responses n h z (fun y => - f y) = - mean_responses n h z f.
Proof.
  unfold mean_responses; rewrite <- sum_responses_opp; apply sum_responses_ext; intros; ring.
Qed.

Lemma mean_responses_scal n h z c f :
  mean_responses n h z (fun y => c * f y) = c * mean_responses n h z f.
Proof.
  unfold mean_responses; rewrite <- sum_responses_scal; apply sum_responses_ext; intros; ring.
Qed.

Lemma probability_sum n h : forall z, (0 < n)%nat -> sum_responses n h (probability n z) = 1.
Proof.
  induction h as [|k IH]; intros z some; simpl; [reflexivity|].
  rewrite (sum_ext n _ (softmax n (z []))); [apply softmax_sum, some|intros a _].
  unfold after at 1; simpl; fold (after a z).
  rewrite (sum_responses_scal n k (softmax n (z []) a) (probability n (after a z))).
  rewrite IH by assumption; ring.
Qed.

Lemma mean_responses_const n h z c : (0 < n)%nat -> mean_responses n h z (fun _ => c) = c.
Proof.
  intros some; unfold mean_responses.
  rewrite (sum_responses_ext n h _ (fun y => c * probability n z y)) by (intros; ring).
  rewrite sum_responses_scal, probability_sum by assumption; ring.
Qed.

Lemma mean_responses_nonneg n h z f :
  (0 < n)%nat -> (forall y, response_of n h y -> 0 <= f y) -> 0 <= mean_responses n h z f.
Proof.
  intros some nonneg; apply sum_responses_nonneg; intros y response.
  apply Rmult_le_pos; [apply Rlt_le, probability_pos, some|apply nonneg, response].
Qed.

Lemma mean_responses_le n h z f g :
  (0 < n)%nat -> (forall y, response_of n h y -> f y <= g y) ->
  mean_responses n h z f <= mean_responses n h z g.
Proof.
  intros some less_or_equal; apply sum_responses_le; intros y response.
  apply Rmult_le_compat_l; [apply Rlt_le, probability_pos, some|apply less_or_equal, response].
Qed.

Lemma covariance_responses_eq n h z f g :
  (0 < n)%nat ->
  covariance_responses n h z f g =
  mean_responses n h z (fun y => f y * g y) - mean_responses n h z f * mean_responses n h z g.
Proof.
  intros some; unfold covariance_responses.
  set (mean_f := mean_responses n h z f); set (mean_g := mean_responses n h z g).
  rewrite (mean_responses_ext n h z _ (fun y => f y * g y - mean_g * f y - mean_f * g y
                                                + mean_f * mean_g)) by (intros; ring).
  rewrite mean_responses_plus, !mean_responses_minus, !mean_responses_scal,
    mean_responses_const by assumption.
  fold mean_f mean_g; ring.
Qed.

Lemma covariance_responses_sym n h z f g :
  covariance_responses n h z f g = covariance_responses n h z g f.
Proof. apply mean_responses_ext; intros; ring. Qed.

Lemma covariance_responses_ext n h z f g f' g' :
  (forall y, response_of n h y -> f y = f' y) -> (forall y, response_of n h y -> g y = g' y) ->
  covariance_responses n h z f g = covariance_responses n h z f' g'.
Proof.
  intros same_f same_g; unfold covariance_responses.
  rewrite (mean_responses_ext n h z f f' same_f), (mean_responses_ext n h z g g' same_g).
  apply mean_responses_ext; intros; rewrite same_f, same_g; auto.
Qed.

Lemma covariance_responses_shift_r n h z f g c :
  (0 < n)%nat ->
  covariance_responses n h z f (fun y => g y - c) = covariance_responses n h z f g.
Proof.
  intros some; unfold covariance_responses.
  rewrite (mean_responses_minus n h z g (fun _ => c)), (mean_responses_const n h z c) by assumption.
  apply mean_responses_ext; intros; ring.
Qed.
