import type { JSX } from 'preact'
import { Type } from 'typebox'
import { adminScopeOf } from '../../api/admin/envelope.ts'
import { closeFor } from '../../api/admin/periods.ts'
import { actorOf, Reason } from '../../api/kit/routes/account-surface.ts'
import type { Services } from '../../api/kit/services.ts'
import { principalOf } from '../../api/kit/tokens/authenticate.ts'
import {
  type Blocker,
  passableCodes,
  type PassableCode,
} from '../../app/finance/statements/types.ts'
import { fromTimestamp } from '../../kernel/clock.ts'
import type { PageForm } from '../form-routes.ts'
import { ActionForm, UnplacedFault } from '../kit/form.tsx'
import { periodHref } from '../kit/href.ts'
import type { View } from '../page.tsx'
import { readingAs } from '../session/reading-as.ts'
import { mayClose } from './close-all.tsx'
import type { LateFailures } from './late-failures.ts'
import type { MonthFacts } from './month-facts.ts'
import { monthInWords, monthNamed } from './names.ts'

/** The forms of a month: it is closed; its void is proposed, approved, rejected. */

/** A form waits for so long until its month is closed; then the page asks. */
const ANSWER_WITHIN_MS = 2_000

/** The blockers of the audit, which may be passed; none, where another one stands as well. */
function passableOf(blockers: readonly Blocker[]): readonly PassableCode[] {
  const passable = passableCodes.filter((known) => blockers.some(({ code }) => code === known))
  return passable.length === blockers.length ? passable : []
}

const passedWords: Readonly<Record<PassableCode, string>> = {
  audit_found: 'in spite of the findings of the audit',
  audit_old: 'without a recent audit',
}
/** The separator of codes of blockers in one hidden field. */
const SEPARATOR = ' '

interface FormProps {
  readonly facts: MonthFacts
  readonly view: View
}

/** The form that closes the month, where nothing but a blocker of the audit blocks it. */
function CloseForm({ facts, view }: FormProps): JSX.Element | null {
  const { of, state } = facts
  if (state.kind === 'closed') return null
  const { fault, requestKey } = view
  const passed = passableOf(state.blockers)
  const isRefused = fault?.form === 'close'
  const isPassed = passed.length > 0
  if (state.blockers.length > 0 && !isPassed)
    return isRefused ? <UnplacedFault fault={fault} /> : null
  return (
    <ActionForm
      name="close"
      title={['Close', passed.map((code) => passedWords[code]).join(' and ')].join(' ').trim()}
      page={periodHref(of)}
      requestKey={requestKey}
      button={`Close ${monthInWords(of.month)}`}
      fault={fault}
      {...(isPassed ? { hidden: { despite: passed.join(SEPARATOR) } } : { isOpen: true })}
      fields={isPassed ? [{ name: 'reason', label: 'Reason (stays in the log and in lists)' }] : []}
    >
      The figures above, with what is posted until then, become a statement with a number and a
      signature. It never changes from then on; what comes later is in a later month.
      {facts.voidBefore === undefined
        ? null
        : ` It is proposed to void ${facts.voidBefore}: once this month is closed, that is not possible any more.`}
    </ActionForm>
  )
}

function VoidForms({ facts, view }: FormProps): JSX.Element | null {
  const { of, state } = facts
  if (state.kind === 'open') return null
  const { fault, requestKey, nowMs } = view
  const { voidProposal } = state.statement
  const { statement } = state.period
  const isOpen = voidProposal !== undefined && nowMs < fromTimestamp(voidProposal.expiresAt)
  const form = { page: periodHref(of), requestKey, fault }
  if (!isOpen)
    return state.isLast ? (
      <ActionForm
        {...form}
        name="propose-void"
        title="Propose to void"
        button={`Propose to void ${statement}`}
        fields={[{ name: 'reason', label: 'Reason (shown on the statement)' }]}
      >
        Another user approves it. {statement} then says that it is void, its number is not used
        again, and {monthInWords(of.month)} is open and can be closed again.
      </ActionForm>
    ) : (
      <p class="panel note">
        A later month begins with the closing balance of this one: only the last closed month can be
        void.
      </p>
    )
  return (
    <>
      <ActionForm {...form} name="approve" title="Approve the void" button={`Void ${statement}`}>
        {statement} says from then on that it is void, and {monthInWords(of.month)} is open again. A
        void is approved by a user other than its proposer.
      </ActionForm>
      <ActionForm
        {...form}
        name="reject"
        title="Reject the void"
        button="Reject"
        fields={[{ name: 'reason', label: 'Reason' }]}
      >
        The proposal ends, and {statement} stands. Its proposer withdraws it in the same way.
      </ActionForm>
    </>
  )
}

/** The forms that a session may send, or who may. */
export function MonthForms({ facts, view }: FormProps): JSX.Element {
  if (!mayClose(view.token))
    return (
      <>
        <UnplacedFault fault={view.fault} />
        <p class="panel note">
          An operator with the role finance, or without a role, closes months, and proposes and
          approves voids.
        </p>
      </>
    )
  const forms = facts.state.kind === 'open' ? ['close'] : ['propose-void', 'approve', 'reject']
  const isPlaced = view.fault === undefined || forms.includes(view.fault.form)
  return (
    <>
      {isPlaced ? null : <UnplacedFault fault={view.fault} />}
      {facts.progress?.asks === true ? null : <CloseForm facts={facts} view={view} />}
      <VoidForms facts={facts} view={view} />
    </>
  )
}

const closeFields = Type.Object({
  despite: Type.Optional(
    Type.String({
      pattern: `^(${passableCodes.join('|')})( (${passableCodes.join('|')}))?$`,
      words: `must be of ${passableCodes.join(', ')}`,
    }),
  ),
  reason: Type.Optional(Reason),
})

type Accounts = Services['accounts']
type Named = Parameters<PageForm<typeof closeFields>['act']>[0]

const named = (request: Named, id: string) => monthNamed(readingAs(principalOf(request)), id)

/** Closes the month; one that takes longer than a form waits is followed by its page. */
export const closeForm = (
  { statements }: Pick<Accounts, 'statements'>,
  failures: LateFailures,
  nowMs: () => number,
): PageForm<typeof closeFields> => ({
  name: 'close',
  roles: ['finance'],
  fields: closeFields,
  act: async (request, { id, fields }) => {
    const of = named(request, id)
    failures.forget(of)
    const onLateFailure = (error: unknown): void => failures.keep(of, error)
    const within = { withinMs: ANSWER_WITHIN_MS, onLateFailure }
    const { reason, despite: text } = fields
    const codes = text?.split(SEPARATOR)
    const despite = codes && passableCodes.filter((code) => codes.includes(code))
    const done = await closeFor(request, statements, { ...of, despite, reason }, within)
    if (done === undefined) return periodHref(of, { sent: nowMs() })
    return periodHref(of, done.created ? {} : { found: 'closed' })
  },
})

const reasonFields = Type.Object({ reason: Reason })

export const proposeVoidForm = ({
  voids,
}: Pick<Accounts, 'voids'>): PageForm<typeof reasonFields> => ({
  name: 'propose-void',
  roles: ['finance'],
  fields: reasonFields,
  act: async (request, { id, fields }) => {
    const of = named(request, id)
    await voids.propose(adminScopeOf(request), actorOf(request), { ...of, ...fields })
    return periodHref(of)
  },
})

const noFields = Type.Object({})

export const approveVoidForm = ({ voids }: Pick<Accounts, 'voids'>): PageForm<typeof noFields> => ({
  name: 'approve',
  roles: ['finance'],
  fields: noFields,
  act: async (request, { id }) => {
    const of = named(request, id)
    await voids.approve(adminScopeOf(request), actorOf(request), of)
    return periodHref(of)
  },
})

export const rejectVoidForm = ({
  voids,
}: Pick<Accounts, 'voids'>): PageForm<typeof reasonFields> => ({
  name: 'reject',
  roles: ['finance'],
  fields: reasonFields,
  act: async (request, { id, fields }) => {
    const of = named(request, id)
    await voids.reject(adminScopeOf(request), actorOf(request), { ...of, ...fields })
    return periodHref(of)
  },
})
