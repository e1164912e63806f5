import type { Principal } from '../../app/access/principal.ts'
import { scopeOfAdminToken } from '../../app/accounts/admin-scope.ts'
import { MAX_TO_DECIDE } from '../../app/accounts/managed-proposals.ts'
import { isOperator } from '../../domain/token/events.ts'
import { formRoute } from '../form-routes.ts'
import { proposalsHref } from '../kit/href.ts'
import { type ConsoleServices, pageRoute } from '../page.tsx'
import { fileRoute } from '../page-files.ts'
import type { Subject } from '../subject.ts'
import { approveForm, proposalPage, rejectForm } from './proposal.tsx'
import { proposalsFile, proposalsPage } from './proposals.tsx'

/** Whether the holder of a session approves and rejects proposals of others. */
const decides = (token: Principal): boolean => isOperator(token) && token.role !== 'support'

/** The proposals and voids that wait for the reader. */
async function readWaiting(
  { accounts }: ConsoleServices,
  token: Principal,
): Promise<string | undefined> {
  if (!decides(token)) return undefined
  const { proposals, voids } = await accounts.proposals.toDecide(scopeOfAdminToken(token), token)
  const all = proposals + voids
  if (all === 0) return undefined
  return all < MAX_TO_DECIDE ? String(all) : `${MAX_TO_DECIDE}+`
}

export const proposals: Subject = {
  place: {
    href: proposalsHref(),
    name: 'Proposals',
    isShownTo: ({ kind }) => kind === 'admin',
    waitingFor: readWaiting,
  },
  register: (app, services) => {
    pageRoute(app, services, proposalsPage)
    fileRoute(app, services, proposalsPage, proposalsFile)
    pageRoute(app, services, proposalPage)
    formRoute(app, services, proposalPage, approveForm(services.accounts.proposals))
    formRoute(app, services, proposalPage, rejectForm(services.accounts.proposals))
  },
}
