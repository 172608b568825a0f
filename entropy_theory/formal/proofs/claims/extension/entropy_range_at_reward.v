(** Extension of the Entropy Mechanism: the entropies that a performance R leaves,
    h(R) <= H <= h(R) + R log m + (1 - R) log(n - m). The upper end is attained by every policy that
    treats the right actions alike and the wrong ones alike. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Groups ViableTokens SymmetricPolicies.
From Trusted.Statements.extension Require entropy_range_at_reward.
Open Scope R_scope.

Theorem proved : Statements.extension.entropy_range_at_reward.statement.
Proof.
  unfold Statements.extension.entropy_range_at_reward.statement.
  intros n logits correct _ some not_all.
  pose proof (some_wrong n correct not_all) as wrong.
  unfold Statements.extension.entropy_range_at_reward.binary,
    Statements.extension.entropy_range_at_reward.widest,
    Statements.extension.entropy_range_at_reward.performance,
    Statements.extension.entropy_range_at_reward.failure.
  change (fun a => negb (correct a)) with (complement correct).
  fold (count_on n correct) (count_on n (complement correct)).
  rewrite count_max by exact wrong.
  pose proof (entropy_at_least_binary n logits correct some) as low.
  pose proof (entropy_at_most_widest n logits correct some wrong) as high.
  split; lra.
Qed.

(** The upper end is attained. *)
Theorem widest_attained :
  forall (n : nat) (logits : vector) (correct : mask),
  nonempty n correct -> nonempty n (complement correct) -> alike n correct logits ->
  let right := total_on n correct (softmax n logits) in
  let wrong := total_on n (complement correct) (softmax n logits) in
  entropy n logits = - right * ln right - wrong * ln wrong
                     + (right * ln (count_on n correct) + wrong * ln (count_on n (complement correct))).
Proof. intros; apply entropy_alike; assumption. Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.extension.entropy_range_at_reward.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem defined : Statements.extension.entropy_range_at_reward.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require entropy_range_at_reward.
From Trusted.Conditions.extension Require entropy_range_at_reward.

Lemma size_of_nonempty n A : nonempty n A -> (0 < n)%nat.
Proof. intros (a & inside & _); lia. Qed.

Theorem widest_attained_witness : Conditions.extension.entropy_range_at_reward.widest_attained_witness.
Proof.
  exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); repeat (split; [met|]); red; intros; reflexivity.
Qed.

Theorem widest_attained_defined : Conditions.extension.entropy_range_at_reward.widest_attained_defined.
Proof.
  intros n logits correct some others _ right wrong; subst right wrong; pose proof (size_of_nonempty n correct some); domains.
Qed.
