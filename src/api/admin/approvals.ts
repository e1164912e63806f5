import { Type } from 'typebox'
import { managedApprovals } from '../../app/accounts/settings.ts'
import { MAX_LAPSE_HOURS } from '../../domain/account/approvals.ts'
import { Amount, Currency } from './schemas.ts'
import { changeMembers, settingRoutes } from './settings.ts'

const limits = Type.Array(
  Type.Object(
    {
      currency: Currency,
      above: Amount(
        'What one person may grant, adjust and raise credit limits by alone within 24 hours.',
      ),
    },
    { named: 'ApprovalLimit', additionalProperties: false },
  ),
  { maxItems: 2, description: 'At most one per currency; a currency without one has no limit.' },
)
const lapseHours = Type.Integer({
  minimum: 1,
  maximum: MAX_LAPSE_HOURS,
  description: 'How long a proposal can be approved.',
})

const ApprovalsBody = Type.Object(
  { limits, lapse_hours: lapseHours, ...changeMembers },
  {
    additionalProperties: false,
    examples: [{ limits: [{ currency: 'CNY', above: '1000' }], lapse_hours: 72 }],
  },
)

/** Routes of the limits above which a second user approves grants, adjustments and credit limits. */
export const approvalRoutes = settingRoutes({
  setting: managedApprovals,
  path: 'approvals',
  operation: 'Approvals',
  // Who moves money sees the limit, and never raises it.
  roles: { get: ['finance'] },
  get: {
    summary: 'Get above which amounts a second user approves grants, adjustments and credit limits',
  },
  put: {
    summary:
      'Replace the limits above which a second user approves grants, adjustments and credit limits (operators only)',
    body: ApprovalsBody,
    failures: ['amount_invalid'],
  },
  members: { limits, lapse_hours: lapseHours },
  read: (body) => ({ limits: body.limits, lapseHours: body.lapse_hours }),
  toBody: (approvals) => ({ limits: approvals.limits, lapse_hours: approvals.lapseHours }),
})
