(** The token-wise covariance K_a that Clip-Cov and KL-Cov rank tokens by, and the band it selects from. *)

From Coq Require Import Reals Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** K_a = (log pi_a - E log pi)(A_a - E A), where E A = 0. *)
Definition token_covariance (n : nat) (logits reward : vector) : vector :=
  fun a => centered n (softmax n logits) logits a * centered n (softmax n logits) reward a.

(** omega_low <= K_a <= 5 omega_low. *)
Definition in_band (n : nat) (logits reward : vector) (lower : R) : mask :=
  fun a => negb (less (token_covariance n logits reward a) lower)
           && negb (less (5 * lower) (token_covariance n logits reward a)).
