(** Extension: the natural policy gradient flow of token logits tilts whole responses.

    If every token logit moves as the advantage (up to a constant at each state, which softmax does not
    see), a response y has at time t the probability pi_0(y) e^{t R(y)} / E_0[e^{t R}], however long the
    responses are. Such a flow exists from every policy: z(s, a) + log E_0[e^{t R} | s, a]. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Trees TreeValues TreeTilting TreeSets.
From Trusted.Statements.extension Require natural_flow_tilts.
Module Stated := Statements.extension.natural_flow_tilts.
Import ListNotations.
Open Scope R_scope.

Theorem flow_tilts_responses :
  forall (n h : nat) (reward : state -> R),
  (2 <= n)%nat -> (1 <= h)%nat ->
  let flow (path : R -> policy) := exists shift : R -> state -> R,
    forall t s a, 0 <= t -> state_of n h s -> (a < n)%nat ->
    derivative (fun r => path r s a) t
      (advantage_at n h (path t) (edge_reward h reward) s a + shift t s) in
  (forall path, flow path -> forall t y, 0 <= t -> response_of n h y ->
     probability n (path t) y =
     probability n (path 0) y * exp (t * reward y)
     / mean_responses n h (path 0) (fun x => exp (t * reward x))) /\
  (forall z, exists path, flow path /\
     forall s a, state_of n h s -> (a < n)%nat -> path 0 s a = z s a).
Proof.
  intros n h reward several long flow; assert (0 < n)%nat as some by lia.
  assert (forall path, flow path <-> natural_flow n h reward path) as same.
  { intros path; split; intros [shift moves]; exists shift; intros;
      apply is_derive_Reals, moves; assumption. }
  split.
  - intros path moves t y later response.
    apply natural_flow_tilts; [assumption|assumption|apply same, moves|assumption|assumption].
  - intros z; destruct (natural_flow_exists n some h z reward long) as [moves start].
    eexists; split; [apply same, moves|exact start].
Qed.

Theorem proved : Statements.extension.natural_flow_tilts.statement.
Proof.
  unfold Stated.statement; intros n h logits reward elapsed several long positive.
  assert (0 < n)%nat as some by lia; split; [|split].
  - intros y response; unfold Stated.flowed, Stated.tilted_probabilities.
    apply (probability_tilted n some h logits (fun x => exp (elapsed * reward x)) y);
      [lia|assumption|intros; apply exp_pos].
  - intros s inside a a_inside; apply (tilted_policy_moves n some); assumption.
  - intros path follows y response; unfold Stated.tilted_probabilities.
    apply (natural_flow_tilts n some h reward path elapsed y); try lia; try lra; try assumption.
    apply natural_flow_centered, follows.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.natural_flow_tilts.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => (fun a => match a with | 0%nat => 0 | _ => 1
    end) (List.hd 0%nat y)), 1; witnessed.
Qed.

Theorem witness_1 : Statements.extension.natural_flow_tilts.witness_1.
Proof.
  exists 2%nat, 1%nat, (fun _ _ => 0), (fun _ => 0), 1; do 3 (split; [witnessed|]).
  exists (fun _ _ _ => 0); intros t _ s [short _] a small; destruct s; [|simpl in short; lia].
  replace (Statements.extension.natural_flow_tilts.advantage _ _ _ _ _ _) with 0; [apply derivable_pt_lim_const|].
  destruct a as [|[|]]; [numbers|numbers|lia].
Qed.

Theorem defined : Statements.extension.natural_flow_tilts.defined.
Proof.
  intros n h logits reward elapsed two long positive; assert (0 < n)%nat as some by lia.
  domains;
    first [apply action_value_edge_reward_pos; [exact some|assumption|assumption|intros; apply exp_pos]
          | apply nonzero_of_pos, mean_responses_pos; [exact some|intros; apply exp_pos]].
Qed.

From PolicyEntropy.library Require Import ConditionsMet TreeDomains.
From Trusted.Theorems.extension Require natural_flow_tilts.
From Trusted.Conditions.extension Require natural_flow_tilts.

Theorem flow_tilts_responses_witness : Conditions.extension.natural_flow_tilts.flow_tilts_responses_witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => 0); do 2 (split; [lia|]); intros flow.
  destruct (flow_tilts_responses 2 1 (fun _ => 0) ltac:(lia) ltac:(lia)) as (_ & starts).
  destruct (starts (fun _ _ => 0)) as (path & flows & _); exists path; split; [exact flows|].
  exists 0, [0%nat]; met.
Qed.

Theorem flow_tilts_responses_defined : Conditions.extension.natural_flow_tilts.flow_tilts_responses_defined.
Proof.
  intros n h reward two long flow path _ t y _ _; apply nonzero_of_pos; unfold mean_responses.
  apply sum_responses_pos; [lia|]; intros u; apply Rmult_lt_0_compat; [apply probability_pos; lia|apply exp_pos].
Qed.
