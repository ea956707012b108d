-- Which lanes are known to be low on gas money: a fall is told once, whoever looks, and again after the lane
-- has recovered.
create table x402.lane_levels (
  -- <chainId>:<signer>
  lane text primary key,
  is_low boolean not null,
  changed_at timestamptz not null default now()
);
