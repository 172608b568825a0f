(** AEnt, Lemma 6 (A.39): a small regularized gradient means a small soft gap.

        V*_lambda(q) - V_lambda(q) <= ||grad V_lambda(D)||_2^2/(2 lambda C)

    for each of three constants C: by state, the least (P(s) min_a pi(a|s)/|D|)^2 over P*(s); by ratio,
    min P times min pi^2 times the least ratio of P to P*, over |D|^2 |S|; by response,
    (min_y pi(y)/|D|)^2. P and P* are the visits of the policy and of the soft policy, which attains the
    largest regularized value. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import SoftGap.
From Trusted.Statements.aent Require lemma_6.
Open Scope R_scope.

Theorem proved : Statements.aent.lemma_6.statement.
Proof.
  intros n h prompts logits reward lambda several long _ positive; assert (0 < n)%nat as some by lia.
  pose proof (regularized_gradient_squares_nonneg n h prompts logits reward lambda) as nonneg.
  split; [|split]; intros q inside;
    change (Statements.aent.lemma_6.square_of_soft_gradient n h prompts logits reward lambda)
      with (regularized_gradient_squares n h prompts logits reward lambda);
    change (Statements.aent.lemma_6.soft_gap n h prompts logits reward lambda q)
      with (soft_gap n h (logits q) (reward q) lambda);
    unfold Statements.aent.lemma_6.soft_constant, Statements.aent.lemma_6.visits,
      Statements.aent.lemma_6.soft_visits.
  - pose proof (soft_gap_by_state n h prompts logits reward lambda q some long positive inside); lra.
  - eapply Rle_trans; [|apply (soft_gap_by_ratio n h prompts logits reward lambda q); assumption].
    apply Req_le; ring.
  - eapply Rle_trans; [|apply (soft_gap_by_response n h prompts logits reward lambda q); assumption].
    apply Req_le; ring.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains TreeDomains.

Theorem witness : Statements.aent.lemma_6.witness.
Proof.
  exists 2%nat, 1%nat, 1%nat, (fun _ _ => (fun _ => 0)), (fun _ y => (fun a => match a with | 0%nat => 0
    | _ => 1 end) (List.hd 0%nat y)), 1; witnessed.
Qed.

Theorem defined : Statements.aent.lemma_6.defined.
Proof. domains. Qed.
