import type { Migrations } from '../../../storage/postgres/migrate.ts'

export const callClaimMigrations: Migrations = {
  owner: 'call-claims',
  steps: [
    `
create table ops.call_claims (
  claim_key text primary key,
  body_hash text not null,
  call_id text not null,
  may_be_settled boolean not null default false,
  lease_until timestamptz not null,
  expires_at timestamptz not null,
  answer bytea
);
-- Answers are ciphertext: trying to compress them only costs time.
alter table ops.call_claims alter column answer set storage external;
create index call_claims_expiry on ops.call_claims (expires_at);
`,
    // Of a claim that a process of before this column took, its lease alone is known.
    `alter table ops.call_claims add column owner text`,
  ],
}
