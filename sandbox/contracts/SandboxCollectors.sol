// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IDepositCollector} from "./SandboxBatchSettlement.sol";
import {IPermit2} from "./SandboxExactProxy.sol";
import {SandboxPermit} from "./SandboxPermit.sol";

interface IReceivingToken {
    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external;

    function transfer(address to, uint256 value) external returns (bool);
}

/// @dev What the collectors of batch-settlement share: the escrow alone may have money collected.
abstract contract SandboxCollector is IDepositCollector {
    address public immutable BATCH_SETTLEMENT;

    error OnlyX402BatchSettlement();

    modifier onlyEscrow() {
        if (msg.sender != BATCH_SETTLEMENT) revert OnlyX402BatchSettlement();
        _;
    }

    constructor(address escrow) {
        BATCH_SETTLEMENT = escrow;
    }
}

/// @title The sandbox's stand-in for the collector of deposits by EIP-3009.
/// @notice The nonce of the authorization names the channel, so that the money can go nowhere else.
contract SandboxErc3009Collector is SandboxCollector {
    constructor(address escrow) SandboxCollector(escrow) {}

    /// @param data - abi.encode(uint256 validAfter, uint256 validBefore, uint256 salt, bytes signature).
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data)
        external
        onlyEscrow
    {
        (uint256 validAfter, uint256 validBefore, uint256 salt, bytes memory signature) =
            abi.decode(data, (uint256, uint256, uint256, bytes));
        IReceivingToken(token).receiveWithAuthorization(
            payer, address(this), amount, validAfter, validBefore, keccak256(abi.encode(channelId, salt)), signature
        );
        require(IReceivingToken(token).transfer(BATCH_SETTLEMENT, amount), "transfer failed");
    }
}

/// @title The sandbox's stand-in for the collector of deposits by Permit2.
/// @notice The witness of the permit names the channel.
contract SandboxPermit2Collector is SandboxCollector {
    IPermit2 public immutable PERMIT2;

    bytes32 private constant WITNESS_TYPEHASH = keccak256("DepositWitness(bytes32 channelId)");
    string private constant WITNESS_TYPE_STRING =
        "DepositWitness witness)DepositWitness(bytes32 channelId)TokenPermissions(address token,uint256 amount)";

    error InvalidPermit2Address();
    error Permit2612AmountMismatch();

    constructor(address escrow, address permit2) SandboxCollector(escrow) {
        if (permit2 == address(0)) revert InvalidPermit2Address();
        PERMIT2 = IPermit2(permit2);
    }

    /// @param data - abi.encode(uint256 nonce, uint256 deadline, bytes signature, bytes permit); the permit is
    /// empty, or abi.encode(uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s).
    function collect(address payer, address token, uint256 amount, bytes32 channelId, bytes calldata data)
        external
        onlyEscrow
    {
        (uint256 nonce, uint256 deadline, bytes memory signature, bytes memory permit) =
            abi.decode(data, (uint256, uint256, bytes, bytes));
        if (permit.length > 0) _permit(payer, token, amount, permit);
        PERMIT2.permitWitnessTransferFrom(
            IPermit2.PermitTransferFrom(IPermit2.TokenPermissions(token, amount), nonce, deadline),
            IPermit2.SignatureTransferDetails(BATCH_SETTLEMENT, amount),
            payer,
            keccak256(abi.encode(WITNESS_TYPEHASH, channelId)),
            WITNESS_TYPE_STRING,
            signature
        );
    }

    function _permit(address payer, address token, uint256 amount, bytes memory data) private {
        SandboxPermit.EIP2612Permit memory permit;
        (permit.value, permit.deadline, permit.v, permit.r, permit.s) =
            abi.decode(data, (uint256, uint256, uint8, bytes32, bytes32));
        if (permit.value != amount) revert Permit2612AmountMismatch();
        SandboxPermit.present(permit, token, payer, address(PERMIT2));
    }
}
