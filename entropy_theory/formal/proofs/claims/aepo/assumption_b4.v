(** AEPO, Assumption B.4: where logits share little, entropy moves in the direction of F(T). *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Inequalities.
From Trusted.Statements.aepo Require assumption_b4.
Open Scope R_scope.

(** (x.v)(v.g) is at most |v|^2 |x| |g| in size. *)
Lemma shared_part_below n (x v g : vector) :
  let inner (f h : vector) := sum n (fun a => f a * h a) in
  (inner x v * inner v g) * (inner x v * inner v g) <= inner v v * inner v v * inner x x * inner g g.
Proof.
  intros inner.
  assert (forall f h, inner f h * inner f h <= inner f f * inner h h) as schwarz
    by (intros f h; exact (cauchy_schwarz n f h)).
  pose proof (schwarz x v); pose proof (schwarz v g).
  pose proof (Rle_0_sqr (inner x v)) as first; pose proof (Rle_0_sqr (inner v g)) as second.
  unfold Rsqr in first, second.
  replace ((inner x v * inner v g) * (inner x v * inner v g))
    with ((inner x v * inner x v) * (inner v g * inner v g)) by ring.
  replace (inner v v * inner v v * inner x x * inner g g)
    with ((inner x x * inner v v) * (inner v v * inner g g)) by ring.
  apply Rmult_le_compat; assumption.
Qed.

Lemma sign_survives rate shared largest :
  shared * shared <= largest -> largest < rate * rate -> 0 < rate * (rate + shared).
Proof.
  intros small little; destruct (Rlt_or_le 0 (rate * (rate + shared))) as [fine|flipped]; [exact fine|exfalso].
  assert (0 <= (- shared - rate) * (- shared + rate)); nra.
Qed.

Theorem proved : Statements.aepo.assumption_b4.repair.
Proof.
  intros n logits correct shared temperature two some positive little.
  eapply sign_survives; [apply shared_part_below|exact little].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aepo.assumption_b4.witness.
Proof.
  exists 2%nat, one_to_two, (fun a => Nat.eqb a 1), (fun _ => 0), 1; do 3 (split; [witnessed|]).
  set (g := sum 2 (fun a => entropy_gradient 2 one_to_two a
                            * Statements.aepo.assumption_b4.unit_step 2 one_to_two (fun b => Nat.eqb b 1) 1 a)).
  assert (g <> 0) by (unfold g; simpl sum; rewrite !entropy_gradient_eq by lia; numbers).
  assert (0 < g * g) by nra; simpl sum at 1 2; lra.
Qed.

Theorem defined : Statements.aepo.assumption_b4.defined.
Proof. domains. Qed.
