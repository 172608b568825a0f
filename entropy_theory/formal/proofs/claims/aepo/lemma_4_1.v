(** AEPO, Lemma 4.1: a higher temperature means a higher entropy, strictly unless the logits are all equal. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Temperature.
From Trusted.Statements.aepo Require lemma_4_1.
Open Scope R_scope.

(** The rate of it: dH/dT = Var(z)/T^3. *)
Theorem slope :
  forall (n : nat) (logits : vector) (temperature : R),
  (1 <= n)%nat -> 0 < temperature ->
  derivative (fun t => entropy n (tempered t logits)) temperature
    (covariance n (softmax n (tempered temperature logits)) logits logits / temperature ^ 3).
Proof. intros; apply derivative_tempered_entropy; [lia|assumption]. Qed.

Theorem entropy_rises :
  forall (n : nat) (logits : vector) (temperature factor : R),
  (1 <= n)%nat -> 0 < temperature -> 1 < factor ->
  0 < largest n logits - smallest n logits ->
  0 < entropy n (tempered (temperature * factor) logits) - entropy n (tempered temperature logits).
Proof.
  intros n logits temperature factor some positive above range.
  enough (entropy n (tempered temperature logits) < entropy n (tempered (temperature * factor) logits))
    by lra.
  apply tempered_entropy_increases; [lia|assumption|nra|assumption].
Qed.

Theorem proved : Statements.aepo.lemma_4_1.statement.
Proof.
  intros n logits temperature factor many positive above range; split.
  - pose proof (entropy_rises n logits temperature factor ltac:(lia) positive above ltac:(lra)); lra.
  - apply slope; [lia|assumption].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.lemma_4_1.witness.
Proof. exists 2%nat, (fun a => match a with | 0%nat => 0 | _ => ln 2 end), 1, 2; witnessed. Qed.

Theorem defined : Statements.aepo.lemma_4_1.defined.
Proof. domains. Qed.
