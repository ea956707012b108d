// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {SandboxPermit} from "./SandboxPermit.sol";

interface IPermit2 {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external;
}

/// @title The sandbox's stand-in for the x402 exact Permit2 proxy, with its interface and its rules.
/// @notice Moves exactly the permitted amount, to the address the payer signed for. Anybody may call.
contract SandboxExactProxy {
    struct Witness {
        address to;
        uint256 validAfter;
    }

    IPermit2 public immutable PERMIT2;

    event Settled();
    event SettledWithPermit();

    error InvalidAmount();
    error InvalidDestination();
    error InvalidOwner();
    error InvalidPermit2Address();
    error PaymentTooEarly();
    error Permit2612AmountMismatch();
    error ReentrancyGuardReentrantCall();

    bytes32 private constant WITNESS_TYPEHASH = keccak256("Witness(address to,uint256 validAfter)");
    string private constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)";

    uint256 private entered = 1;

    modifier once() {
        if (entered == 2) revert ReentrancyGuardReentrantCall();
        entered = 2;
        _;
        entered = 1;
    }

    constructor(address permit2) {
        if (permit2 == address(0)) revert InvalidPermit2Address();
        PERMIT2 = IPermit2(permit2);
    }

    function settle(
        IPermit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external once {
        _settle(permit, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        SandboxPermit.EIP2612Permit calldata permit2612,
        IPermit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external once {
        if (permit2612.value != permit.permitted.amount) revert Permit2612AmountMismatch();
        SandboxPermit.present(permit2612, permit.permitted.token, owner, address(PERMIT2));
        _settle(permit, owner, witness, signature);
        emit SettledWithPermit();
    }

    function _settle(
        IPermit2.PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        if (permit.permitted.amount == 0) revert InvalidAmount();
        if (owner == address(0)) revert InvalidOwner();
        if (witness.to == address(0)) revert InvalidDestination();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        PERMIT2.permitWitnessTransferFrom(
            permit,
            IPermit2.SignatureTransferDetails(witness.to, permit.permitted.amount),
            owner,
            keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.validAfter)),
            WITNESS_TYPE_STRING,
            signature
        );
    }
}
