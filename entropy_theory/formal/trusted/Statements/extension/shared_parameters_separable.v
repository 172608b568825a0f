(* Generated from the formula of the claim extension.shared-parameters-separable (Extension of Entropy Mechanism and AEPO to prompts that share parameters). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** s_q: by how much the direction raises each right logit over each wrong one, at least. *)
Definition separation (n : nat) (prompts : nat) (parameters : nat) (features : nat -> nat -> nat -> R) (direction : nat -> R) (correct : nat -> nat -> bool) : nat -> R :=
  fun q => smallest_on n (correct q) (fun a => sum parameters (fun m => features q a m * direction m)) - largest_on n (fun a => negb (correct q a)) (fun a => sum parameters (fun m => features q a m * direction m)).

(** z + F theta: the logits at each prompt. *)
Definition shared_logits (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) : nat -> nat -> R :=
  fun q a => logits q a + sum parameters (fun m => features q a m * theta m).

(** The gradient of J in the parameters: the mean over prompts of F^T (pi (r - V)). *)
Definition reward_gradient (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) : nat -> R :=
  fun m => sum prompts (fun q => sum n (fun a => features q a m * (softmax n (shared_logits n prompts parameters logits features theta q) a * centered n (softmax n (shared_logits n prompts parameters logits features theta q)) (reward q) a))) / INR prompts.

(** The reward: 1 for right answers, 0 for wrong ones. *)
Definition hits (n : nat) (prompts : nat) (logits : nat -> nat -> R) (correct : nat -> nat -> bool) : nat -> nat -> R :=
  fun q a => if correct q a then 1 else 0.

(** p_q (1 - p_q), p_q the probability of a right answer to prompt q. *)
Definition undecided (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (correct : nat -> nat -> bool) : nat -> R :=
  fun q => total_on n (correct q) (softmax n (shared_logits n prompts parameters logits features theta q)) * total_on n (fun a => negb (correct q a)) (softmax n (shared_logits n prompts parameters logits features theta q)).

(** Parameters after an exact step of policy gradient. *)
Definition after_gradient_step (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R) : nat -> R :=
  fun m => theta m + learning_rate * reward_gradient n prompts parameters logits features theta reward m.

(** J: the mean over prompts of the expected reward. *)
Definition mean_reward (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) : R :=
  sum prompts (fun q => mean n (softmax n (shared_logits n prompts parameters logits features theta q)) (reward q)) / INR prompts.

Definition statement : Prop :=
  forall (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (correct : nat -> nat -> bool) (direction : nat -> R),
  (2 <= n)%nat ->
  (1 <= prompts)%nat ->
  (1 <= parameters)%nat ->
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ correct q a = true) ->
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ (~ (correct q a = true))) ->
  (forall q, (q < prompts)%nat -> 0 < separation n prompts parameters features direction correct q) ->
  sum prompts (fun q => separation n prompts parameters features direction correct q * undecided n prompts parameters logits features theta correct q) / INR prompts <= sum parameters (fun m => reward_gradient n prompts parameters logits features theta (hits n prompts logits correct) m * direction m) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> ((forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> tends_to (fun k => sum prompts (undecided n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point (hits n prompts logits correct) (rates j))) theta k) correct)) (0))) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> (((INR prompts * (1 - mean_reward n prompts parameters logits features theta (hits n prompts logits correct)) < 1) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound)))) -> (tends_to (fun k => mean_reward n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point (hits n prompts logits correct) (rates j))) theta k) (hits n prompts logits correct)) (1)) /\ (limsup_at_most (fun k => sum prompts (fun q => entropy n (shared_logits n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point (hits n prompts logits correct) (rates j))) theta k) q))) (sum prompts (fun q => ln (total_on n (correct q) (fun a => 1))))))).

Definition witness : Prop :=
  exists (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (correct : nat -> nat -> bool) (direction : nat -> R),
  (2 <= n)%nat /\
  (1 <= prompts)%nat /\
  (1 <= parameters)%nat /\
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ correct q a = true) /\
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ (~ (correct q a = true))) /\
  (forall q, (q < prompts)%nat -> 0 < separation n prompts parameters features direction correct q).

Definition witness_1 : Prop :=
  exists (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (correct : nat -> nat -> bool) (direction : nat -> R),
  (2 <= n)%nat /\
  (1 <= prompts)%nat /\
  (1 <= parameters)%nat /\
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ correct q a = true) /\
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ (~ (correct q a = true))) /\
  (forall q, (q < prompts)%nat -> 0 < separation n prompts parameters features direction correct q) /\
  (exists rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound)))).

Definition witness_2 : Prop :=
  exists (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (correct : nat -> nat -> bool) (direction : nat -> R),
  (2 <= n)%nat /\
  (1 <= prompts)%nat /\
  (1 <= parameters)%nat /\
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ correct q a = true) /\
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ (~ (correct q a = true))) /\
  (forall q, (q < prompts)%nat -> 0 < separation n prompts parameters features direction correct q) /\
  (exists rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) /\ ((INR prompts * (1 - mean_reward n prompts parameters logits features theta (hits n prompts logits correct)) < 1) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))))).

Definition reward_gradient_defined (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (m : nat) : Prop :=
  INR prompts <> 0.

Definition after_gradient_step_defined (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R) (m : nat) : Prop :=
  reward_gradient_defined n prompts parameters logits features theta reward m.

Definition mean_reward_defined (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) : Prop :=
  INR prompts <> 0.

Definition defined : Prop :=
  forall (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (correct : nat -> nat -> bool) (direction : nat -> R),
  (2 <= n)%nat ->
  (1 <= prompts)%nat ->
  (1 <= parameters)%nat ->
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ correct q a = true) ->
  (forall q, (q < prompts)%nat -> exists a, (a < n)%nat /\ (~ (correct q a = true))) ->
  (forall q, (q < prompts)%nat -> 0 < separation n prompts parameters features direction correct q) ->
  (forall m, (m < parameters)%nat -> reward_gradient_defined n prompts parameters logits features theta (hits n prompts logits correct) m) /\
  INR prompts <> 0 /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> forall j : nat, forall point : nat -> R, forall o, (o < parameters)%nat -> after_gradient_step_defined n prompts parameters logits features point (hits n prompts logits correct) (rates j) o) /\
  mean_reward_defined n prompts parameters logits features theta (hits n prompts logits correct) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> ((INR prompts * (1 - mean_reward n prompts parameters logits features theta (hits n prompts logits correct)) < 1) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound)))) -> forall j : nat, forall point : nat -> R, forall o, (o < parameters)%nat -> after_gradient_step_defined n prompts parameters logits features point (hits n prompts logits correct) (rates j) o) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> ((INR prompts * (1 - mean_reward n prompts parameters logits features theta (hits n prompts logits correct)) < 1) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound)))) -> forall k : nat, mean_reward_defined n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point (hits n prompts logits correct) (rates j))) theta k) (hits n prompts logits correct)) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> ((INR prompts * (1 - mean_reward n prompts parameters logits features theta (hits n prompts logits correct)) < 1) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound)))) -> (tends_to (fun k => mean_reward n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point (hits n prompts logits correct) (rates j))) theta k) (hits n prompts logits correct)) (1)) -> forall j : nat, forall point : nat -> R, forall o, (o < parameters)%nat -> after_gradient_step_defined n prompts parameters logits features point (hits n prompts logits correct) (rates j) o) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> ((INR prompts * (1 - mean_reward n prompts parameters logits features theta (hits n prompts logits correct)) < 1) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound)))) -> (tends_to (fun k => mean_reward n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point (hits n prompts logits correct) (rates j))) theta k) (hits n prompts logits correct)) (1)) -> forall q, (q < prompts)%nat -> 0 < total_on n (correct q) (fun a => 1)).
