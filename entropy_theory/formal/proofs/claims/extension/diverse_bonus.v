(** Extension: a bonus on surprise among right answers. Its step pi x is p grad H(q), H(q) the entropy among
    right answers; so H(q) rises, strictly unless right answers are equally likely. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Clamping DiverseBonus.
From Trusted.Statements.extension Require diverse_bonus.
Open Scope R_scope.

Lemma diversity_same n z A :
  nonempty n A -> Statements.extension.diverse_bonus.diversity n z A = clamped_entropy n z A.
Proof. apply diversity_eq. Qed.

Theorem proved : Statements.extension.diverse_bonus.statement.
Proof.
  intros n z A two members.
  split; [exact (plain_rate_nonneg n z A members)|].
  split; [|split; [|split]].
  - intros v.
    apply derivative_ext with (f := fun t => clamped_entropy n (fun a => z a + t * v a) A).
    { intros t; symmetry; apply diversity_same, members. }
    replace (sum n (fun a => Statements.extension.diverse_bonus.diverse_step n z A a
                             / Statements.extension.diverse_bonus.right_mass n z A * v a))
      with (sum n (fun a => conditional n z A a * surprise n z A a * v a)).
    + apply diversity_slope, members.
    + apply sum_ext; intros a _.
      change (conditional n z A a * surprise n z A a * v a
              = softmax n z a * surprise n z A a / total_on n A (softmax n z) * v a).
      rewrite (p_surprise n z A members a); pose proof (mass_pos n z A members); field; lra.
  - apply derivative_ext with (f := fun t => clamped_entropy n
      (fun a => z a + t * (softmax n z a * surprise n z A a)) A).
    { intros t; symmetry; apply diversity_same, members. }
    exact (diversity_slope n z A members (fun a => softmax n z a * surprise n z A a)).
  - exact (step_sum n z A members).
  - exact (plain_rate_zero n z A members).
Qed.

From PolicyEntropy.library Require Import Witnesses LimitWitnesses Domains.

Theorem witness : Statements.extension.diverse_bonus.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); witnessed. Qed.

Theorem witness_1 : Statements.extension.diverse_bonus.witness_1.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1); limits_witnessed. Qed.

Theorem defined : Statements.extension.diverse_bonus.defined.
Proof. domains. Qed.
