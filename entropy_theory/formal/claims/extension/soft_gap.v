(** Lemma 6 of AEnt, twice sharper (extension):

        V*_lambda(q) - V_lambda(q) <= ||grad V_lambda(D)||_2^2/(4 lambda C),

    for C P*(s) <= (P(s) min_a pi(a|s)/|D|)^2 at every state s. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues
  TreeGradientBounds Stationarity SoftOptimum SoftGap.
Import ListNotations.
Open Scope R_scope.

Definition statement : Prop :=
  forall (n h prompts : nat) (logits : nat -> policy) (reward : nat -> state -> R) (lambda C : R),
    (1 <= n)%nat -> (1 <= h)%nat -> 0 < lambda ->
    forall q, (q < prompts)%nat ->
    let optimal := soft_policy n h lambda (edge_reward h (reward q)) in
    (forall s, state_of n h s ->
         C * probability n optimal s
         <= Rsqr (probability n (logits q) s * smallest n (softmax n (logits q s))) / Rsqr (INR prompts)) ->
    4 * lambda * C
    * (regularized_value n h optimal (reward q) lambda
       - regularized_value n h (logits q) (reward q) lambda)
    <= sum prompts (fun k => sum_states n h (fun s => sum n (fun a => Rsqr
      (probability n (logits k) s * (softmax n (logits k s) a
        * advantage n h (logits k) (regularized_edge n h (logits k) (reward k) lambda) s a)
       / INR prompts)))).

Theorem proved : statement.
Proof.
  unfold statement; intros n h prompts logits reward lambda C some long positive q inside small.
  apply data_soft_gap_le; assumption.
Qed.
